#include "app/cli/stop_signals.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>

#include "maskctl/base/atomic_file.h"

namespace maskctl::app {
namespace {

constexpr std::chrono::milliseconds kPatience{50};

bool is_ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Removes half-written files, then exits with the status that shells expect for the signal.
[[noreturn]] void end(int number) {
  remove_temporary_files();
  _exit(128 + number);
}

}  // namespace

StopSignals::StopSignals(std::function<void()> stop) : stop_(std::move(stop)) {
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // Ignored signals stay ignored, as under nohup.
    if (!is_ignored(number)) sigaddset(&signals_, number);
  }
  sigaddset(&signals_, SIGUSR1);  // the destructor wakes the thread with it
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  thread_ = std::thread([this] { wait(); });
}

StopSignals::~StopSignals() {
  if (const int number = received_) end(number);
  done_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

void StopSignals::wait() {
  int number = 0;
  do {
    sigwait(&signals_, &number);
    if (done_) return;
  } while (number == SIGUSR1);
  received_ = number;
  stop_();
  std::this_thread::sleep_for(kPatience);
  end(number);
}

}  // namespace maskctl::app
