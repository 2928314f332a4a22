// What the work of one call may use: threads, spare memory, and how it is told to stop.
#pragma once

#include <optional>
#include <stop_token>

namespace maskctl {

class BufferPool;

/// Limits of a piece of work. A limit left out is that of the enclosing scope, or of the process.
struct WorkLimits {
  int threads = 0;             // 0: left out
  BufferPool* pool = nullptr;  // where large buffers come from and go back to
  std::stop_token stop = {};   // parallel_for and throw_if_stopped heed it

  bool sets_any() const { return threads > 0 || pool || stop.stop_possible(); }
};

/// Sets the limits of everything this thread does until the end of the scope, tasks of
/// parallel_for on other threads included. Scopes nest; two threads can have different limits at
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

  // The limits of the innermost scope; outside of any scope, all are left out.
  static WorkLimits current();
  static int threads();
  static BufferPool* pool();
  static const std::stop_token* stop();  // null when nobody can ask to stop

 private:
  void enter(const WorkLimits& limits);
  void leave();

  std::optional<WorkLimits> limits_;  // empty if this scope sets no limits
  const WorkLimits* outer_ = nullptr;
};

/// Throws Error(kCancelled) when the current scope has been asked to stop.
void throw_if_stopped();

/// The same for the passes of a loop, at the cost of one read of memory: StopPoll poll; for (...)
/// { poll(); ... }. A pass should take 10 ms at most. Not to be kept beyond the current scope, nor
/// given to other threads.
class StopPoll {
 public:
  StopPoll() : stop_(WorkScope::stop()) {}
  void operator()() const {
    if (stop_ != nullptr && stop_->stop_requested()) throw_if_stopped();
  }

 private:
  const std::stop_token* stop_;  // null when nobody can ask
};

}  // namespace maskctl
