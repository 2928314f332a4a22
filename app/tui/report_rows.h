// What can be asked about a whole mask: one table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/tui/actions.h"
#include "app/tui/reports.h"
#include "app/tui/scene.h"

namespace maskctl::app::tui {

struct ReportRow {
  Report report;
  std::string_view title;
  bool wide = false;  // as wide as a command's output: it covers the screen
  /// Lines of any length. May take long, and heeds stop requests.
  std::vector<ReportLine> (*lines)(const Scene& scene) = nullptr;
};
const ReportRow& report_row(Report report);

}  // namespace maskctl::app::tui
