// How the heads of a call of the linear family are shared out.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "maskctl/attention/operations/linear/linear_problem.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {

/// task(worker, sequence, head) for each of `heads` heads of each sequence, with a Worker(d) that
/// no other thread has at the time; on all threads when it is worth starting them, which steps of
/// streaming inference are not.
template <class Worker, class Task>
void for_each_linear_task(const LinearDims& d, Index heads, Task&& task) {
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> idle;
  const auto run = [&](Index n) {
    std::unique_ptr<Worker> worker;
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        worker = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!worker) worker = std::make_unique<Worker>(d);
    task(*worker, n / heads, n % heads);
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(worker));
  };
  constexpr double kWorthThreads = 4e6;  // multiplications in about the time to start threads
  const double work = static_cast<double>(d.batch * d.tokens * d.heads) *
                      static_cast<double>(d.key_dim * d.value_dim);
  const Index tasks = static_cast<Index>(d.sequences.size()) * heads;
  if (work >= kWorthThreads) {
    parallel_for(tasks, run);
  } else {
    for (Index n = 0; n < tasks; ++n) run(n);
  }
}

}  // namespace maskctl::attention
