#include "app/python/attended.h"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

namespace nb = nanobind;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenLooks{1}, kLongestWait{2000};

std::atomic<int> calls = 0;  // that have not ended; a child of fork() begins with none
std::atomic<bool> ending = false;
std::atomic<std::thread::id> ending_thread;

bool is_abandoned() { return ending && ending_thread.load() != std::this_thread::get_id(); }

/// Counts a call until it has the interpreter's lock again.
struct Counted {
  Counted() {
    [[maybe_unused]] static const int registered =
        pthread_atfork(nullptr, nullptr, [] { calls = 0; });
    ++calls;
  }
  ~Counted() { --calls; }
};

/// Keeps an abandoned call from taking the interpreter's lock.
struct Parked {
  ~Parked() {
    if (!is_abandoned()) return;
    --calls;
    while (true) std::this_thread::sleep_for(kLongestWait);
  }
};

}  // namespace

void run_attended(const std::function<void(const WantsStop&)>& work) {
  std::optional<nb::python_error> raised;
  const WantsStop wants_stop = [&raised] {
    if (is_abandoned()) return true;
    const nb::gil_scoped_acquire lock;
    if (!raised && PyErr_CheckSignals() != 0) raised.emplace();
    return raised.has_value();
  };
  try {
    const Counted counted;
    const nb::gil_scoped_release unlock;
    const Parked parked;
    work(wants_stop);
  } catch (const Error&) {
    if (!raised) throw;
  }
  if (raised) throw nb::python_error(*raised);
}

void stop_other_calls() {
  const nb::gil_scoped_release unlock;
  ending_thread = std::this_thread::get_id();
  ending = true;
  for (milliseconds waited{0}; calls > 0 && waited < kLongestWait; waited += kBetweenLooks) {
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace maskctl::app
