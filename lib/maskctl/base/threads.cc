#include "maskctl/base/threads.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace maskctl {
namespace {

std::atomic<int> requested{0};
thread_local bool inside_task = false;

/// One call of parallel_for: whoever takes part draws task numbers until none is left.
struct Job {
  Index tasks;
  const std::function<void(Index)>* task;
  std::atomic<Index> next{0};
  std::mutex mutex;
  std::exception_ptr failure;

  void work() {
    inside_task = true;
    for (Index i = next++; i < tasks; i = next++) {
      try {
        (*task)(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = tasks;
      }
    }
    inside_task = false;
  }
};

}  // namespace

void set_threads(int count) { requested = count < 0 ? 0 : count; }

int threads() {
  const int count = requested;
  if (count > 0) return count;
  // Asked once: the answer comes from a file of the system, and the smallest combination asks for
  // it.
  static const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : static_cast<int>(cores);
}

void parallel_for(Index tasks, const std::function<void(Index)>& task) {
  const Index helpers = std::min<Index>(threads(), tasks) - 1;
  if (helpers <= 0 || inside_task) {
    for (Index i = 0; i < tasks; ++i) task(i);
    return;
  }
  Job job{tasks, &task, {}, {}, {}};
  {
    std::vector<std::jthread> team;
    team.reserve(static_cast<std::size_t>(helpers));
    for (Index i = 0; i < helpers; ++i) team.emplace_back([&job] { job.work(); });
    job.work();
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace maskctl
