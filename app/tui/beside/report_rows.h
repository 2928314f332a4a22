// The reports about a mask that the inspector can show, with their titles and what makes their
// lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/tui/beside/report.h"
#include "app/tui/beside/scene.h"

namespace maskctl::app::tui {

struct ReportRow {
  Report report;
  std::string_view title;
  bool wide = false;  // the report covers the screen, not only a side panel
  /// Makes the lines, which may have any length. May take long; can be stopped.
  std::vector<ReportLine> (*lines)(const Scene& scene) = nullptr;
};
const ReportRow& report_row(Report report);

}  // namespace maskctl::app::tui
