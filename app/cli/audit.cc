// maskctl audit: compares a kernel's block map with the mask.
#include "maskctl/inspect/count/audit.h"

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/json_explain.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

std::string audit_text(const Mask& mask, const BlockAudit& audit) {
  std::string out = fmt::format("{:<10}{}, {} cells open\n", "mask", shape_text(mask), audit.open);
  out += fmt::format("{:<10}{} blocks of {}x{}: {} kept, {} left out\n", "map", audit.blocks,
                     audit.size.q, audit.size.k, audit.kept, audit.blocks - audit.kept);
  out +=
      fmt::format("{:<10}{} open cells ({}), in {} blocks and {} rows\n", "dropped", audit.dropped,
                  percent(audit.dropped, audit.open), audit.dropped_blocks, audit.dropped_rows);
  if (audit.first_dropped) {
    out += fmt::format("{:<10}the first at {}\n", "", cell_text(*audit.first_dropped));
  }
  out += fmt::format("{:<10}{} closed cells, in {} blocks marked full\n", "leaked", audit.leaked,
                     audit.wrong_full);
  if (audit.first_leaked) {
    out += fmt::format("{:<10}the first at {}\n", "", cell_text(*audit.first_leaked));
  }
  return out + fmt::format("{:<10}{} kept blocks without an open cell\n", "wasted", audit.wasted);
}

}  // namespace

int audit(const AuditOptions& options, const GlobalOptions& globals) {
  Loader loader(options.source, globals);
  const Mask mask = loader.transformed(loader.read(options.name).mask);
  const BlockAudit found = audit_blocks(mask, loader.array(options.map), options.block);
  write_stdout(options.json ? audit_json(options.name, options.map, mask, found)
                            : audit_text(mask, found));
  return found.ok() ? 0 : 1;
}

}  // namespace maskctl::app
