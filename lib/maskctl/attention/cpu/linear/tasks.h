// How the heads of a call of the linear family are shared out.
#pragma once

#include <memory>

#include "maskctl/attention/cpu/worker_pool.h"
#include "maskctl/attention/operations/linear/linear_problem.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {

/// task(worker, sequence, head) for each of `heads` heads of each sequence, with a Worker(d) that
/// no other thread has at the time; on all threads when it is worth starting them, which steps of
/// streaming inference are not.
template <class Worker, class Task>
void for_each_linear_task(const LinearDims& d, Index heads, Task&& task) {
  WorkerPool<Worker> workers;
  const auto run = [&](Index n) {
    workers.run([&d] { return std::make_unique<Worker>(d); },
                [&](Worker& worker) { task(worker, n / heads, n % heads); });
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
