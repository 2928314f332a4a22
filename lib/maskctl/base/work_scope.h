// What the work of one call may use: threads, spare memory, and how it is told to stop.
#pragma once

#include <stop_token>

namespace maskctl {

class MemoryPool;

/// Limits of a piece of work. What is left out is that of the enclosing scope, or of the process.
struct WorkLimits {
  int threads = 0;             // 0: left out
  MemoryPool* pool = nullptr;  // where large buffers come from and go back to
  std::stop_token stop = {};   // parallel_for and throw_if_stopped heed it
};

/// Sets the limits of everything this thread does until the end of the scope, tasks of
/// parallel_for on other threads included. Scopes nest; two threads can have different limits at
/// the same time.
class WorkScope {
 public:
  explicit WorkScope(const WorkLimits& limits);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

  // Of the innermost scope; outside of any, all is left out.
  static WorkLimits current();
  static int threads();
  static MemoryPool* pool();

 private:
  WorkLimits limits_;
  const WorkLimits* outer_;
};

/// Throws Error(kCancelled) when the current scope has been asked to stop.
void throw_if_stopped();

}  // namespace maskctl
