// Tests of WorkScope, which limits threads and buffers of some work and stops it on request.
#include "maskctl/base/work_scope.h"

#include <atomic>
#include <set>
#include <thread>

#include "maskctl/base/buffer_pool.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

/// Returns how many threads run a job of `wanted` tasks, each of which waits until all have begun.
std::size_t threads_of_job(int wanted) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> arrived{0};
  parallel_for(wanted, [&](Index) {
    {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    ++arrived;
    while (arrived < wanted) std::this_thread::yield();
  });
  return seen.size();
}

bool is_cancelled(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code() == Errc::kCancelled;
  }
  return false;
}

}  // namespace

TEST_CASE("a scope sets the number of threads, and its end restores it") {
  set_threads(5);
  {
    const WorkScope scope({.threads = 3});
    CHECK(threads() == 3);
    CHECK(threads_of_job(3) == 3);
    {
      const WorkScope inner({.threads = 1});
      CHECK(threads() == 1);
    }
    CHECK(threads() == 3);
  }
  CHECK(threads() == 5);
  set_threads(0);
}

TEST_CASE("a scope keeps the outer scope's value of each limit that it does not set") {
  BufferPool pool;
  std::stop_source stop;
  const WorkScope outer({.threads = 2, .pool = &pool, .stop = stop.get_token()});
  const WorkScope inner({});
  CHECK(threads() == 2);
  CHECK(WorkScope::pool() == &pool);
  stop.request_stop();
  CHECK(is_cancelled(throw_if_stopped));
}

TEST_CASE("two threads work under different limits at once") {
  const auto runs_with = [](int count) {
    const WorkScope scope({.threads = count});
    int runs = 0;
    for (int i = 0; i < 50; ++i)
      runs += threads() == count && threads_of_job(count) == as_size(count);
    return runs;
  };
  int of_two = 0, of_four = 0;
  {
    std::jthread other([&] { of_two = runs_with(2); });
    of_four = runs_with(4);
  }
  CHECK(of_two == 50);
  CHECK(of_four == 50);
}

TEST_CASE("tasks on other threads have the limits of their caller, which end with the task") {
  BufferPool pool;
  std::atomic<int> with{0};
  {
    const WorkScope scope({.threads = 3, .pool = &pool});
    std::atomic<int> arrived{0};
    parallel_for(3, [&](Index) {
      with += WorkScope::pool() == &pool;
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    });
  }
  CHECK(with == 3);
  const WorkScope scope({.threads = 3});
  std::atomic<int> arrived{0}, without{0};
  parallel_for(3, [&](Index) {
    without += WorkScope::pool() == nullptr;
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  CHECK(without == 3);
}

TEST_CASE("a stop request ends a job between two tasks, on one thread or several") {
  const int count = GENERATE(1, 3);
  std::stop_source stop;
  std::atomic<Index> ran{0};
  const WorkScope scope({.threads = count, .stop = stop.get_token()});
  CHECK(is_cancelled([&] {
    parallel_for(1000000, [&](Index) {
      if (++ran == 10) stop.request_stop();
    });
  }));
  CHECK(ran >= 10);
  CHECK(ran < 10 + count);
  CHECK(is_cancelled([&] { parallel_for(1, [&](Index) { ++ran; }); }));
}

TEST_CASE("work without a stop token never stops") {
  CHECK_FALSE(is_cancelled(throw_if_stopped));
  const WorkScope scope({.threads = 1});
  CHECK_FALSE(is_cancelled(throw_if_stopped));
}
