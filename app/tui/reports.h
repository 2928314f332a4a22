// Answers about the whole mask that may take long: what it is, why two differ, its statistics.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/tui/actions.h"
#include "app/tui/errand.h"
#include "app/tui/scene.h"
#include "maskctl/base/stopwatch.h"

namespace maskctl::app::tui {

/// A line of a report, of any length, and where it leads.
struct ReportLine {
  std::string text;
  std::optional<Cell> cell = {};
  std::optional<Target> target = {};  // what n goes on with from there
};

/// A report that was asked for. It belongs to one scene.
struct ReportState {
  Report kind = Report::kRecognise;
  ScenePtr scene;
  bool done = false;
  bool whole = false;   // over the screen, as it may not fit into the panel
  bool hidden = false;  // kept while the reader is where one of its lines led
  Stopwatch watch = {};
  std::vector<ReportLine> lines = {};  // once it is done
  std::size_t selected = 0;            // among them, those that lead somewhere
};

struct State;

/// Makes reports beside the interface.
class ReportMaker {
 public:
  /// `ended` is called on another thread when a report is finished.
  explicit ReportMaker(std::function<void()> ended) : work_(std::move(ended)) {}

  /// Begins the report that the state asks for, stops one that it no longer asks for, and puts a
  /// finished one into it; see Errand.
  void follow(State& state, Time end);
  bool busy() const { return work_.busy(); }

 private:
  Errand<std::pair<Report, ScenePtr>, std::vector<ReportLine>> work_;
};

}  // namespace maskctl::app::tui
