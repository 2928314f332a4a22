// What the work of one call may use: threads, a buffer pool, and a token that asks it to stop.
#pragma once

#include <optional>
#include <stop_token>

namespace maskctl {

class BufferPool;

/// Limits for some work. A limit that is not set is that of the enclosing WorkScope, or else that
/// of the process.
struct WorkLimits {
  int threads = 0;             // 0: not set
  BufferPool* pool = nullptr;  // for large buffers; null: not set
  std::stop_token stop = {};   // checked by parallel_for and throw_if_stopped

  bool sets_any() const { return threads > 0 || pool || stop.stop_possible(); }
};

/// Sets the limits of everything that this thread does until the end of the scope, including tasks
/// of parallel_for that run on other threads. Scopes nest; two threads can have different limits at
/// the same time.
class WorkScope {
 public:
  explicit WorkScope(const WorkLimits& limits) {
    if (limits.sets_any()) enter(limits);
  }
  ~WorkScope() {
    if (limits_) leave();
  }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

  // The limits of the innermost scope; outside of all scopes, none is set.
  static WorkLimits current();
  static int threads();
  static BufferPool* pool();
  static const std::stop_token* stop();  // null when no stop can be requested

 private:
  void enter(const WorkLimits& limits);
  void leave();

  std::optional<WorkLimits> limits_;  // empty if this scope sets no limits
  const WorkLimits* outer_ = nullptr;
};

/// Throws Error(kCancelled) when the current scope has been asked to stop.
void throw_if_stopped();

/// throw_if_stopped() for loops, at the cost of one read of memory: StopPoll poll; for (...) {
/// poll(); ... }. An iteration should take 10 ms at most. Use the object only in the scope and the
/// thread that made it.
class StopPoll {
 public:
  StopPoll() : stop_(WorkScope::stop()) {}
  void operator()() const {
    if (stop_ != nullptr && stop_->stop_requested()) throw_if_stopped();
  }

 private:
  const std::stop_token* stop_;  // null when no stop can be requested
};

}  // namespace maskctl
