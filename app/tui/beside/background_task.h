// Runs work in the background while the interface continues to draw and to take keys.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "maskctl/base/work_scope.h"

namespace maskctl::app::tui {

using Time = std::chrono::steady_clock::time_point;

/// Computes a value on its own thread. The destructor stops the work and waits until it has
/// stopped.
template <typename T>
class BackgroundTask {
 public:
  /// `make` runs with the WorkLimits of the constructor's caller, including its stop token. The
  /// thread calls `ended` after the value or an exception has been stored, unless it was stopped.
  BackgroundTask(std::function<T()> make, std::function<void()> ended)
      : make_(std::move(make)),
        ended_(std::move(ended)),
        limits_(WorkScope::current()),
        thread_([this](const std::stop_token& stop) { work(stop); }),
        stop_too_(limits_.stop, Stop{thread_.get_stop_source()}) {}

  /// Waits until `end` at most; true if the work is done.
  bool wait_until(Time end) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, end, [this] { return done_; });
  }
  /// Waits for the value and returns it; rethrows what `make` threw. Call it once.
  T take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    if (failure_) std::rethrow_exception(failure_);
    return std::move(*value_);
  }

 private:
  struct Stop {
    std::stop_source source;
    void operator()() { source.request_stop(); }
  };

  void work(const std::stop_token& stop) {
    WorkLimits limits = limits_;
    limits.stop = stop;
    const WorkScope scope(limits);
    try {
      value_ = make_();
    } catch (...) {
      failure_ = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    if (!stop.stop_requested()) ended_();
  }

  const std::function<T()> make_;
  const std::function<void()> ended_;
  const WorkLimits limits_;
  std::optional<T> value_;
  std::exception_ptr failure_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  std::jthread thread_;
  // Passes a stop request of the constructor's caller on to the thread.
  std::stop_callback<Stop> stop_too_;
};

/// A deadline 10 ms from now. Screens wait that long for background work, because most of it is
/// done by then.
inline Time in_a_moment() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
}

}  // namespace maskctl::app::tui
