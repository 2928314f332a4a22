// Ctrl-C and its like: work is asked to stop, and the program ends soon whether it heeds that or
// not.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace maskctl::app {

/// While it lives, SIGINT, SIGTERM and SIGHUP call `stop` on a thread of its own; signals that the
/// parent process ignores stay ignored. The program then ends with status 128 + number: when this
/// object is destroyed, or after 50 ms. Create it before other threads.
class StopSignals {
 public:
  explicit StopSignals(std::function<void()> stop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  void wait();

  std::function<void()> stop_;
  sigset_t signals_{};
  std::atomic<bool> done_ = false;
  std::atomic<int> received_ = 0;
  std::thread thread_;
};

}  // namespace maskctl::app
