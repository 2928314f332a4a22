// A line on stderr for work that takes a while.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "app/cli/options.h"

namespace maskctl::app {

/// First drawn after half a second, then at most ten times a second, and cleared at the end; only
/// if stderr is a terminal that can clear a line, and none of --quiet, --progress never and CI is
/// set.
class ProgressLine {
 public:
  ProgressLine(std::string label, const GlobalOptions& globals);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Empty if nothing is to be drawn. The callback must not outlive this object.
  std::function<void(double fraction)> callback();

 private:
  void update(double fraction);

  std::string label_;
  bool enabled_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace maskctl::app
