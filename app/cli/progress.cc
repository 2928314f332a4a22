// Draws the progress line.
#include "app/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>

#include "app/cli/environment.h"
#include "app/cli/streams.h"
#include "app/cli/terminal.h"
#include "maskctl/base/printable.h"

namespace maskctl::app {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kFirst = std::chrono::milliseconds(500);
constexpr auto kEach = std::chrono::milliseconds(100);
constexpr int kWidth = 24;

class Line {
 public:
  explicit Line(std::string_view label) : label_(printable(label)), next_(Clock::now() + kFirst) {}
  ~Line() {
    if (drawn_) control_terminal("\r\x1b[K");
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void update(double fraction) {
    const auto now = Clock::now();
    if (now < next_) return;
    next_ = now + kEach;
    drawn_ = true;
    const double part = std::clamp(fraction, 0.0, 1.0);
    const int filled = static_cast<int>(part * kWidth);
    control_terminal(fmt::format("\r{} [{:#<{}}{:.<{}}] {:3.0f} %\x1b[K", label_, "", filled, "",
                                 kWidth - filled, part * 100));
  }

 private:
  std::string label_;
  bool drawn_ = false;
  Clock::time_point next_;
};

}  // namespace

Progress progress_line(std::string label) {
  const std::string_view terminal = environment("TERM");
  const bool clears = is_terminal(STDERR_FILENO) && !terminal.empty() && terminal != "dumb";
  if (!clears || *environment("CI")) return {};
  return [line = std::make_shared<Line>(label)](double fraction) { line->update(fraction); };
}

}  // namespace maskctl::app
