// Threads that work for whoever calls, and are kept for the next call: waking one takes a third of
// the time that starting one takes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace maskctl::app {

class Worker {
 public:
  /// A worker that has nothing to do; each of several callers gets its own. Works in a forked
  /// process too.
  static Worker& take();
  void give_back();

  /// Begins `work`, which must not throw and must stay until it has ended.
  void begin(const std::function<void()>& work);
  /// Whether it has ended, now or within that time.
  bool ended_within(std::chrono::milliseconds time);

 private:
  Worker();
  void run();

  std::mutex mutex_;
  std::condition_variable begins_, ended_;
  const std::function<void()>* work_ = nullptr;  // null: none, or it has ended
};

}  // namespace maskctl::app
