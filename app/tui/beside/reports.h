// Makes reports that may take long: what a mask is, why two masks differ, statistics.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/tui/beside/errand.h"
#include "app/tui/beside/report.h"
#include "app/tui/beside/scene.h"
#include "maskctl/base/stopwatch.h"

namespace maskctl::app::tui {

/// A report that the user has asked for, about one scene.
struct ReportState {
  Report kind = Report::kRecognise;
  ScenePtr scene;
  bool done = false;
  bool whole = false;   // covers the screen, because it may not fit into the side panel
  bool hidden = false;  // not shown, because the user went to a cell from one of its lines
  Stopwatch watch = {};
  std::vector<ReportLine> lines = {};  // set when it is done
  std::size_t selected = 0;            // index in `lines`, among those that lead to a cell
};

/// Makes reports in the background.
class ReportMaker {
 public:
  /// `ended` is called on another thread when a report is finished.
  explicit ReportMaker(std::function<void()> ended) : work_(std::move(ended)) {}

  /// Starts to make this report, or continues to, and stops making any other; null stops all.
  /// Stores the lines of a finished report in it. See Errand.
  void follow(ReportState* report, Time end);
  bool busy() const { return work_.busy(); }

 private:
  Errand<std::pair<Report, ScenePtr>, std::vector<ReportLine>> work_;
};

}  // namespace maskctl::app::tui
