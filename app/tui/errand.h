// Work beside the interface of which one piece is wanted at a time: another one stops it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "app/tui/background_task.h"

namespace maskctl::app::tui {

/// Makes a T for what is asked, which must be comparable.
template <typename Asked, typename T>
class Errand {
 public:
  /// `ended` is called on another thread when a piece of work has ended.
  explicit Errand(std::function<void()> ended) : ended_(std::move(ended)) {}

  /// The result, once; nothing while it is being made. Stops what something else was asked for.
  /// Work that begins now is waited for until `end`, other work only if that is Time::max().
  /// `make()` returns the function that does the work, and is called where that begins. Throws what
  /// the work threw.
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

  /// Returns when it has stopped.
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
