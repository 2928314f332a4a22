// maskctl blockmap: what a block-sparse kernel loads for a mask.
#include "app/cli/commands/blockmap_options.h"
#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/ejkernel/commands.h"

namespace maskctl::app {
namespace {

void declare(OptionList& list, BlockmapOptions& map) {
  list.operand("SOURCE", map.name);
  declare_source(list, map.source);
  list.value("--block", "QxK", "block of the kernel; must divide the mask (required)",
             [&map](const std::string& text) { map.block = parse_block(text, "--block"); });
  list.integer("--batch", 0, "which batch (0)", [&map](Index n) { map.batch = n; });
  list.integer("--head-shards", 1, "parts that the heads are split into (1)",
               [&map](Index n) { map.head_shards = n; });
  list.integer("--q-shards", 1, "parts that the queries are split into (1)",
               [&map](Index n) { map.q_shards = n; });
  list.flag("--no-shrink", "keep the columns that no row needs", map.no_shrink);
  list.flag("--no-downcast", "int32 indices, however small they are", map.no_downcast);
  list.flag("--dkv", "in the order of the backward pass: by key blocks", map.dkv);
  list.flag("--dynamic", "the form for masks known only at run time: keeps every block",
            map.dynamic);
  list.text("-o,--output", "DEST", "FILE.npz for the arrays, or -", map.dest);
  list.flag("-f,--force", "replace an existing file", map.force);
  declare_gzip(list, map.gzip);
  list.json("maskctl.blockmap/1", map.json);
}

Answer run(const BlockmapOptions& options, Session& session) {
  return ejkernel::blockmap(options, session);
}

}  // namespace

const Command kBlockmap = command<BlockmapOptions, declare, run>({
    .name = "blockmap",
    .group = kAsk,
    .operands = "SOURCE",
    .summary = "what a block-sparse kernel loads: block classes, prefetch order",
    .examples = "  maskctl blockmap mask.npy --block 128\n"
                "  maskctl blockmap seg.npy --as segments -t causal --block 128x256 -o map.npz\n",
});

}  // namespace maskctl::app
