// maskctl audit: compares a kernel's block map with the mask.
#include "maskctl/inspect/count/audit.h"

#include <fmt/format.h>

#include <optional>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/figures.h"
#include "app/reports/json_explain.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

struct AuditOptions {
  SourceOptions source;
  std::string name;
  std::string map;
  std::optional<BlockSize> block;
  bool json = false;
};

void declare(OptionList& list, AuditOptions& audit) {
  list.operand("SOURCE", audit.name);
  list.operand("MAP", audit.map);
  declare_source(list, audit.source);
  list.value("--block", "QxK", "block of the map, queries x keys (that of the lists; 128)",
             [&audit](const std::string& text) { audit.block = parse_block(text, "--block"); });
  list.json("maskctl.audit/1", audit.json);
}

std::string audit_text(const Mask& mask, const BlockAudit& audit) {
  std::string out =
      fmt::format("{:<10}{}, {} open\n", "mask", shape_text(mask), counted(audit.open, "cell"));
  out += fmt::format("{:<10}{} of {}x{}: {} kept, {} left out\n", "map",
                     counted(audit.blocks, "block"), audit.size.q, audit.size.k,
                     grouped(audit.kept), grouped(audit.blocks - audit.kept));
  out += fmt::format("{:<10}{} ({}), in {} and {}\n", "dropped",
                     counted(audit.dropped, "open cell"), percent(audit.dropped, audit.open),
                     counted(audit.dropped_blocks, "block"), counted(audit.dropped_rows, "row"));
  if (audit.first_dropped) {
    out += fmt::format("{:<10}the first at {}\n", "", cell_text(*audit.first_dropped));
  }
  if (audit.first_key_rows > 0) {
    out += fmt::format("{:<10}key 0 of {}\n", "", counted(audit.first_key_rows, "row"));
  }
  out += fmt::format("{:<10}{}, in {} marked full\n", "leaked",
                     counted(audit.leaked, "closed cell"), counted(audit.wrong_full, "block"));
  if (audit.first_leaked) {
    out += fmt::format("{:<10}the first at {}\n", "", cell_text(*audit.first_leaked));
  }
  return out + fmt::format("{:<10}{} without an open cell\n", "wasted",
                           counted(audit.wasted, "kept block"));
}

/// The block size of --block, or else that of the block lists in the map, or else 128x128. Throws
/// if --block and the map have different sizes.
BlockSize block_of(const AuditOptions& options, const Loader::Blocks& map) {
  if (options.block && map.size && *options.block != *map.size) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: blocks of {}x{}, but --block {}x{}", options.map, map.size->q,
                            map.size->k, options.block->q, options.block->k));
  }
  return options.block.value_or(map.size.value_or(BlockSize{128, 128}));
}

Answer run(const AuditOptions& options, Session& session) {
  Loader loader(options.source, session);
  const Mask mask = loader.transformed(loader.read(options.name).mask);
  const Loader::Blocks map = loader.blocks(options.map);
  const BlockAudit found = audit_blocks(mask, map.map, block_of(options, map));
  return answer_in(
      options.json, [&] { return audit_text(mask, found); },
      [=] { return audit_json(options.name, options.map, mask, found); }, found.ok() ? 0 : 1);
}

}  // namespace

extern const Command kAudit = command<AuditOptions, declare, run>({
    .name = "audit",
    .group = kJudge,
    .operands = "SOURCE MAP",
    .summary = "a kernel's map of blocks against the mask: what it drops and leaks",
    .examples = "  maskctl audit gen:window:keys=101,n=512 map.npy --block 64\n"
                "  maskctl audit seg.npy kept.npy --as segments -t causal --block 128x64\n"
                "  maskctl audit seg.npy block_mask.npz --as segments -t causal\n",
    .negative = "the map loses or gains attention",
});

}  // namespace maskctl::app
