// Tests that a worker of a WorkerPool runs one task at a time.
#include "maskctl/attention/cpu/worker_pool.h"

#include <atomic>
#include <thread>

#include "maskctl/base/threads.h"
#include "support/catch_compat.h"

namespace worker_pool_cases {

namespace {

using namespace maskctl;

TEST_CASE("worker pool: makes at most as many workers as tasks run at once, and shares none") {
  struct Worker {
    // Not atomic, since only one task at a time may use the worker.
    bool busy = false;
  };
  attention::WorkerPool<Worker> pool;
  std::atomic<int> made = 0, at_once = 0, most = 0, shared = 0;
  parallel_for(500, [&](Index) {
    const int running = ++at_once;
    for (int known = most; running > known && !most.compare_exchange_weak(known, running);) {
    }
    const auto make = [&made] {
      ++made;
      return std::make_unique<Worker>();
    };
    pool.run(make, [&shared](Worker& worker) {
      if (worker.busy) ++shared;
      worker.busy = true;
      std::this_thread::yield();
      worker.busy = false;
    });
    --at_once;
  });
  CHECK(shared == 0);
  CHECK(made >= 1);
  CHECK(made <= most);
}

}  // namespace

}  // namespace worker_pool_cases
