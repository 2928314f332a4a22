// Draws the progress line.
#include "app/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "app/cli/output.h"
#include "app/cli/terminal.h"

namespace maskctl::app {
namespace {

constexpr auto kFirst = std::chrono::milliseconds(500);
constexpr auto kEach = std::chrono::milliseconds(100);
constexpr int kWidth = 24;

}  // namespace

ProgressLine::ProgressLine(std::string label, const GlobalOptions& globals)
    : label_(std::move(label)),
      enabled_(globals.progress && !globals.quiet && is_terminal(STDERR_FILENO) &&
               !*environment("CI") && *environment("TERM") &&
               std::strcmp(environment("TERM"), "dumb") != 0),
      next_(std::chrono::steady_clock::now() + kFirst) {}

ProgressLine::~ProgressLine() {
  if (drawn_) write_stderr("\r\x1b[K");
}

std::function<void(double)> ProgressLine::callback() {
  if (!enabled_) return {};
  return [this](double fraction) { update(fraction); };
}

void ProgressLine::update(double fraction) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kEach;
  drawn_ = true;
  const double part = std::clamp(fraction, 0.0, 1.0);
  const int filled = static_cast<int>(part * kWidth);
  write_stderr(fmt::format("\r{} [{:#<{}}{:.<{}}] {:3.0f} %\x1b[K", label_, "", filled, "",
                           kWidth - filled, part * 100));
}

}  // namespace maskctl::app
