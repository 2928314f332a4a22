// maskctl blockmap: lists the blocks that a block-sparse kernel loads for a mask.
#include <fmt/format.h>

#include <array>

#include "app/cli/commands/blockmap_options.h"
#include "app/cli/commands/command.h"
#include "app/cli/commands/ejkernel.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/report.h"
#include "app/session/loader.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

constexpr std::string_view kListKinds[] = {"flex", "fa4", "bsr"};

void declare(OptionList& list, BlockmapOptions& map) {
  list.operand("SOURCE", map.name);
  declare_source(list, map.source);
  list.choice("--to", kListKinds,
              "lists of blocks: BlockMask's arrays, FlashAttention-4's counts and indices, "
              "block-sparse rows (JAX's arrays of block-sparse attention)",
              [&map](std::size_t i) { map.to = kind_from_name(kListKinds[i]); });
  list.value("--block", "QxK",
             "block of the kernel; with --to 128, else required and must divide the mask",
             [&map](const std::string& text) { map.block = parse_block(text, "--block"); });
  list.integer("--batch", 0, "which batch (0)", [&map](Index n) { map.batch = n; });
  list.integer("--head-shards", 1, "parts that the heads are split into (1)",
               [&map](Index n) { map.head_shards = n; });
  list.integer("--q-shards", 1, "parts that the queries are split into (1)",
               [&map](Index n) { map.q_shards = n; });
  list.flag("--no-shrink", "keep the columns that no row needs", map.no_shrink);
  list.flag("--no-downcast", "int32 indices, however small they are", map.no_downcast);
  list.flag("--dkv", "in the order of the backward pass: by key blocks (flex has both)", map.dkv);
  list.flag("--dynamic", "the form for masks known only at run time: keeps every block",
            map.dynamic);
  list.text("-o,--output", "DEST", "FILE.npz for the arrays, or -", map.dest);
  list.flag("-f,--force", "replace an existing file", map.force);
  declare_gzip(list, map.gzip);
  list.json("maskctl.blockmap/1", map.json);
}

void check_lists(const BlockmapOptions& options) {
  const bool others = options.batch != 0 || options.head_shards != 1 || options.q_shards != 1 ||
                      options.no_shrink || options.no_downcast || options.dynamic;
  if (others) {
    throw Error(Errc::kInvalidArgument,
                "blockmap: --batch, --head-shards, --q-shards, --no-shrink, --no-downcast and "
                "--dynamic do not go with --to, which lists the blocks of every batch and head");
  }
  if (options.dkv && options.to == ArrayKind::kFlex) {
    throw Error(Errc::kInvalidArgument,
                "blockmap: --to flex also has the lists by key blocks; leave out --dkv");
  }
  if (options.json && options.dest == "-") {
    throw Error(Errc::kInvalidArgument, "blockmap: --json and -o - both use standard output");
  }
}

std::vector<BlockCounts> counts_of(const MaskBlocks& blocks) {
  std::vector<BlockCounts> out;
  for (Index plane = 0; plane < blocks.planes(); ++plane) {
    const TileMap& map = blocks.of(plane);
    out.push_back({map.empty(), map.partial(), map.full()});
  }
  return out;
}

/// Prints a note if there are partial blocks: the bsr format does not distinguish them from full
/// ones.
void note_partial(std::span<const BlockCounts> heads, Session& session) {
  Index partial = 0;
  for (const BlockCounts& head : heads) partial += head.partial;
  if (partial == 0) return;
  session.note(fmt::format("bsr does not tell {} from full ones; the kernel needs their cells too",
                           counted(partial, "partial block")));
}

Answer listed(const BlockmapOptions& options, Session& session) {
  check_lists(options);
  Loader loader(options.source, session);
  const Mask mask = loader.transformed(loader.read(options.name).mask);
  BlockmapReport report{options.name, mask, options.block.value_or(BlockSize{128, 128}),
                        options.dkv,  {},   {}};
  const MaskBlocks blocks = mask_blocks(mask, report.block);
  report.heads = counts_of(blocks);
  if (options.to == ArrayKind::kBsr) note_partial(report.heads, session);
  ConvertedMask made;
  made.kind = *options.to;
  made.arrays = block_list_arrays(blocks, made.kind, options.dkv, loader.max_bytes());
  for (const NamedTensor& array : made.arrays) {
    report.arrays.push_back(
        {array.name, std::string(name(array.tensor.dtype())), array.tensor.shape()});
  }
  if (!options.dest.empty()) {
    MaskWriteOptions how;
    how.kind = made.kind;
    how.force = options.force;
    how.gzip = options.gzip;
    write_converted(options.dest, made, how, session);
  }
  if (options.dest == "-") return {};
  return answer_in(
      options.json, [&] { return blockmap_text(report); }, [=] { return blockmap_json(report); });
}

Answer run(const BlockmapOptions& options, Session& session) {
  return options.to ? listed(options, session) : ejkernel::blockmap(options, session);
}

}  // namespace

extern const Command kBlockmap = command<BlockmapOptions, declare, run>({
    .name = "blockmap",
    .group = kAsk,
    .operands = "SOURCE",
    .summary = "what a block-sparse kernel loads: block classes, prefetch order",
    .examples = "  maskctl blockmap mask.npy --block 128\n"
                "  maskctl blockmap seg.npy --as segments -t causal --block 128x256 -o map.npz\n"
                "  maskctl blockmap seg.npy --as segments -t causal --to flex -o block_mask.npz\n",
});

}  // namespace maskctl::app
