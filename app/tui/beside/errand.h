// Background work of which only the latest request counts: a new request stops the previous one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "app/tui/beside/background_task.h"

namespace maskctl::app::tui {

/// Computes a T in the background for the latest request, an Asked. Requests must be comparable by
/// ==; a new one stops the work for the previous one.
template <typename Asked, typename T>
class Errand {
 public:
  /// `ended` is called on another thread when the work for a request has ended.
  explicit Errand(std::function<void()> ended) : ended_(std::move(ended)) {}

  /// The result for the request `asked`, or nothing while the work goes on; a result is returned
  /// once. Work for any other request is stopped. If the work starts in this call, waits for it
  /// until `end`; if it was already running, waits only if `end` is Time::max(). `make()` is called
  /// when work starts, and returns the function to run in the background. Throws what that function
  /// threw.
  template <typename Make>
  std::optional<T> follow(const Asked& asked, Time end, const Make& make) {
    if (work_ && !(work_->asked == asked)) stop();
    const bool begins = !work_;
    if (begins) work_ = std::make_unique<Work>(asked, make(), ended_);
    const bool waits = begins || end == Time::max();
    if (!work_->task.wait_until(waits ? end : Time())) return std::nullopt;
    const auto done = std::move(work_);
    return done->task.take();
  }

  /// Stops the work and waits until it has stopped.
  void stop() { work_.reset(); }
  bool busy() const { return work_ != nullptr; }

 private:
  struct Work {
    Work(const Asked& asked_for, std::function<T()> make, const std::function<void()>& ended)
        : asked(asked_for), task(std::move(make), ended) {}

    const Asked asked;
    BackgroundTask<T> task;
  };

  const std::function<void()> ended_;
  std::unique_ptr<Work> work_;
};

}  // namespace maskctl::app::tui
