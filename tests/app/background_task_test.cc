// Tests BackgroundTask of the inspector: its value, an exception, and a task that is ended early.
#include "app/tui/beside/background_task.h"

#include <atomic>
#include <stdexcept>

#include "support/catch_compat.h"

namespace {

using maskctl::app::tui::BackgroundTask;
using maskctl::app::tui::Time;

TEST_CASE("background task: the value can be taken as soon as the task has ended", "[tui]") {
  for (int n = 0; n < 50; ++n) {
    std::atomic<int> calls = 0;
    // Needs no lock: when the value is there, what was written before it can be read.
    int made = 0;
    BackgroundTask<int> work([&] { return made = n; }, [&] { ++calls; });
    while (!work.wait_until(Time())) std::this_thread::yield();
    CHECK(made == n);
    CHECK(work.take() == n);
  }
}

TEST_CASE("background task: take() rethrows the exception of the work", "[tui]") {
  BackgroundTask<int> work([]() -> int { throw std::runtime_error("no value"); }, [] {});
  CHECK_THROWS_WITH(work.take(), "no value");
}

TEST_CASE("background task: the destructor stops the work, which then reports nothing", "[tui]") {
  std::atomic<bool> began = false, told = false;
  {
    const BackgroundTask<int> work(
        [&] {
          began = true;
          while (!maskctl::WorkScope::current().stop.stop_requested()) std::this_thread::yield();
          return 0;
        },
        [&] { told = true; });
    while (!began) std::this_thread::yield();
    CHECK_FALSE(work.wait_until(std::chrono::steady_clock::now()));
  }
  CHECK_FALSE(told);
}

}  // namespace
