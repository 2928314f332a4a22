// Reports about the whole mask that may take long: what it is, why two masks differ, statistics.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/tui/beside/errand.h"
#include "app/tui/beside/scene.h"
#include "app/tui/state/actions.h"
#include "maskctl/base/stopwatch.h"

namespace maskctl::app::tui {

/// A line of a report, of any length, and the cell to which it leads.
struct ReportLine {
  std::string text;
  std::optional<Cell> cell = {};
  std::optional<Target> target = {};  // search target of the key n after going to the cell
};

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

struct State;

/// Makes reports in the background.
class ReportMaker {
 public:
  /// `ended` is called on another thread when a report is finished.
  explicit ReportMaker(std::function<void()> ended) : work_(std::move(ended)) {}

  /// Starts the report that the state asks for, stops one that it no longer asks for, and stores a
  /// finished one in the state; see Errand.
  void follow(State& state, Time end);
  bool busy() const { return work_.busy(); }

 private:
  Errand<std::pair<Report, ScenePtr>, std::vector<ReportLine>> work_;
};

}  // namespace maskctl::app::tui
