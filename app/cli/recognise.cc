// maskctl recognise: finds the pipeline that a mask may have come from.
#include "maskctl/inspect/recognise/recognise.h"

#include <fmt/format.h>

#include "app/cli/chain_arrays.h"
#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "app/cli/recognise_report.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/steps/bind.h"

namespace maskctl::app {
namespace {

constexpr std::size_t kPlaneLines = 16;

std::string where_text(const RecogniseReport& report) {
  const Recognised& found = report.found;
  std::string out =
      fmt::format("{:<12}{} of {} cells", "unexplained", found.residue.cells, report.mask.cells());
  if (found.residue.first.empty()) return out + "\n";
  out += fmt::format(": {} open, {} closed in the mask, in {} rows; first at {}\n",
                     report.differs.only_a, report.differs.only_b, report.differs.rows,
                     cell_text(found.residue.first.front()));
  if (report.mask.batch() * report.mask.heads() == 1) return out;
  std::size_t lines = 0;
  for (const PlaneDiff& plane : report.differs.planes) {
    if (++lines > kPlaneLines) {
      return out + fmt::format("{:<12}... {} more; --json lists all\n", "",
                               report.differs.planes.size() - kPlaneLines);
    }
    out += fmt::format("{:<12}batch {}, head {}: {}\n", "", plane.batch, plane.head,
                       plane.only_a + plane.only_b);
  }
  return out;
}

std::string pipeline_text(const RecogniseReport& report) {
  if (report.found.irregular) {
    return "irregular; nearest: " + (report.pipeline.empty() ? "every cell open" : report.pipeline);
  }
  return report.pipeline.empty() ? "none: every cell is open" : report.pipeline;
}

std::string report_text(const RecogniseReport& report) {
  std::string out = fmt::format("{:<12}{}\n", "shape", shape_text(report.mask));
  out += fmt::format("{:<12}{}: {} of {} cells open\n", "density",
                     percent(report.open, report.mask.cells()), report.open, report.mask.cells());
  out += fmt::format("{:<12}{}\n", "pipeline", pipeline_text(report));
  return out + where_text(report);
}

}  // namespace

int recognise(const RecogniseCommand& options, const GlobalOptions& globals) {
  Loader loader(options.source, globals);
  RecogniseReport report;
  report.source = options.name;
  report.mask = loader.transformed(loader.read(options.name).mask);
  report.open = report.mask.count();
  report.found = maskctl::recognise(report.mask, {.max_steps = options.max_steps});
  if (report.found.residue.cells > 0) {
    report.differs = diff(report.mask, maskctl::apply(full_like(report.mask), report.found.chain));
  }
  ChainArrays arrays("recognised", options.dest);
  arrays.name(report.found.chain);
  report.arrays = arrays.sources();
  report.written = arrays.write({.force = options.force, .gzip = options.gzip});
  report.pipeline = to_text(report.found.chain);
  if (!arrays.empty() && !report.written) {
    note("the arrays of the pipeline are not written; --write recognised.npz does it", globals);
  }
  write_stdout(options.json ? recognise_json(report) : report_text(report));
  return report.found.residue.cells == 0 ? 0 : 1;
}

}  // namespace maskctl::app
