// Threads that run work for other threads and are reused: waking one takes a third of the time of
// starting one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace maskctl::app {

class Worker {
 public:
  /// Takes an idle worker, or starts one. No two callers share a worker. Works after fork(), too.
  static Worker& take();
  void give_back();

  /// Starts `work`, which must not throw, and must exist until it has ended.
  void begin(const std::function<void()>& work);
  /// Waits for at most `time`; true if the work has ended.
  bool ended_within(std::chrono::milliseconds time);

 private:
  Worker();
  void run();

  std::mutex mutex_;
  std::condition_variable begins_, ended_;
  const std::function<void()>* work_ = nullptr;  // null: no work, or it has ended
};

}  // namespace maskctl::app
