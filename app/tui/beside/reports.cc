#include "app/tui/beside/reports.h"

#include "app/tui/beside/report_rows.h"

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

void ReportMaker::follow(ReportState* report, Time end) {
  if (!report || report->done) return work_.stop();
  auto lines = work_.follow({report->kind, report->scene}, end, [&] {
    return [kind = report->kind, scene = report->scene] { return lines_of(kind, *scene); };
  });
  if (!lines) return;
  report->lines = std::move(*lines);
  report->done = true;
}

}  // namespace maskctl::app::tui
