// Tests of parallel_for, which splits work over threads.
#include "maskctl/base/threads.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/catch_compat.h"
#include "support/little_memory.h"

using namespace maskctl;

namespace {

/// Sets the number of threads; the destructor restores the default.
struct Threads {
  explicit Threads(int count) { set_threads(count); }
  ~Threads() { set_threads(0); }
};

}  // namespace

TEST_CASE("every task runs exactly once") {
  const Threads count(GENERATE(0, 1, 2, 7));
  for (Index tasks : {0, 1, 2, 5, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
    parallel_for(tasks, [&](Index i) { ++runs[static_cast<std::size_t>(i)]; });
    for (const std::atomic<int>& run : runs) REQUIRE(run == 1);
  }
}

TEST_CASE("the first exception of a task is rethrown, and no further tasks start") {
  const Threads count(GENERATE(1, 4));
  std::atomic<Index> ran{0};
  CHECK_THROWS_AS(parallel_for(1000000,
                               [&](Index) {
                                 ++ran;
                                 throw std::runtime_error("task failed");
                               }),
                  std::runtime_error);
  CHECK(ran < 100);
}

TEST_CASE("parallel_for works after an exception, and inside a task") {
  const Threads count(3);
  CHECK_THROWS(parallel_for(4, [](Index) { throw std::runtime_error("task failed"); }));
  std::atomic<Index> sum{0};
  parallel_for(10, [&](Index i) { parallel_for(10, [&](Index j) { sum += i * 10 + j; }); });
  CHECK(sum == 99 * 100 / 2);
}

TEST_CASE("several threads may call parallel_for at once, repeatedly") {
  const Threads count(3);
  std::atomic<Index> ran{0};
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        for (Index tasks = 0; tasks < 300; ++tasks) parallel_for(tasks, [&](Index) { ++ran; });
      });
    }
  }
  CHECK(ran == 4 * 300 * 299 / 2);
}

TEST_CASE("tasks that wait for each other run at the same time") {
  const Threads count(3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<int> arrived{0};
    parallel_for(3, [&](Index) {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    });
    CHECK(arrived == 3);
  }
}

TEST_CASE("the number of threads can be set, and is at least one by default") {
  {
    const Threads count(3);
    CHECK(threads() == 3);
  }
  CHECK(threads() >= 1);
  const Threads negative(-5);
  CHECK(threads() >= 1);
}

// The sanitizers reserve address space without bound, so the limit of this test would stop them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a job completes if the system cannot start more threads", "[host]") {
  CHECK(maskctl::test::holds_where_threads_fail([] {
    set_threads(200);
    std::vector<int> done(1000);
    parallel_for(1000, [&](Index i) { ++done[static_cast<std::size_t>(i)]; });
    return std::count(done.begin(), done.end(), 1) == 1000;
  }));
}
#endif
