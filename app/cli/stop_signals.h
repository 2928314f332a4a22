// Handles Ctrl-C and similar signals: asks the work to stop, and ends the program even if it does
// not.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace maskctl::app {

/// While an object of this class exists, SIGINT, SIGTERM and SIGHUP make its thread call `stop`.
/// The program then exits with status 128 + signal number, when the object is destroyed or after 50
/// ms, whichever is first. Signals that the parent process ignores stay ignored. Create it before
/// other threads.
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
