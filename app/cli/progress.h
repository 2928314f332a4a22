// A line on stderr for work that takes long enough to wonder.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "app/cli/options.h"

namespace maskctl::app {

/// Drawn first after half a second, at most ten times a second, cleared at the end; only when
/// stderr is a terminal that can clear a line, and neither --quiet, --progress never nor CI is set.
class ProgressLine {
 public:
  ProgressLine(std::string label, const GlobalOptions& globals);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Empty when nothing is to be drawn. The callback must not outlive this object.
  std::function<void(double fraction)> callback();

 private:
  void update(double fraction);

  std::string label_;
  bool enabled_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace maskctl::app
