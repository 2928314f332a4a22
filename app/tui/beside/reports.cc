#include "app/tui/beside/reports.h"

#include "app/tui/beside/report_rows.h"
#include "app/tui/state/state.h"

namespace maskctl::app::tui {
namespace {

std::vector<ReportLine> lines_of(Report kind, const Scene& scene) {
  try {
    return report_row(kind).lines(scene);
  } catch (const std::exception& error) {
    return {{error.what()}};
  }
}

}  // namespace

void ReportMaker::follow(State& state, Time end) {
  if (!state.report || state.report->done) return work_.stop();
  ReportState& report = *state.report;
  auto lines = work_.follow({report.kind, report.scene}, end, [&] {
    return [kind = report.kind, scene = report.scene] { return lines_of(kind, *scene); };
  });
  if (!lines) return;
  report.lines = std::move(*lines);
  report.done = true;
}

}  // namespace maskctl::app::tui
