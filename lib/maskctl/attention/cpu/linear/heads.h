// The arrays of one call of the linear family as the CPU path wants them: f32, one head of one
// sequence at a time, in order of time.
#pragma once

#include <memory>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/prefetch_queue.h"
#include "maskctl/attention/cpu/worker_pool.h"
#include "maskctl/attention/problems/linear_problem.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {

/// Rows of one array: that of step n starts at data + n * stride. stride is negative in reverse.
template <class T>
struct RowsOf {
  T* data = nullptr;
  Index stride = 0;
  T* row(Index step) const { return data + step * stride; }
  /// The rows from a step on; no data where there is none.
  RowsOf from(Index step) const { return {data ? row(step) : nullptr, stride}; }
  explicit operator bool() const { return data != nullptr; }
};
using Rows = RowsOf<const float>;

/// One head of one sequence. Absent gates have no data.
struct LinearHead {
  Index tokens = 0;
  Rows q, k, v;
  Rows key_gates[2];    // [K] each: per-key g and gk
  Rows value_gates;     // [V]
  Rows head_gates;      // [1]
  float head_gate = 0;  // g_gamma
};

/// Prefetches rows that will soon be read or written. A token has many rows and few products, so
/// they are fetched faster than those of softmax attention.
class LinearPrefetchQueue : public PrefetchQueue {
 public:
  LinearPrefetchQueue() : PrefetchQueue(kFloatsOfDepth) {}

  /// Queues the rows of some tokens, if there are any.
  template <class T>
  void add(const RowsOf<T>& rows, Range tokens, Index width) {
    if (rows && !tokens.empty())
      PrefetchQueue::add(rows.row(tokens.begin), rows.stride, tokens.size(), width);
  }
  /// Queues what the state needs of some tokens of a head.
  void add_keys(const LinearHead& head, Range tokens, Index keys, Index values) {
    for (const Rows& gates : head.key_gates) add(gates, tokens, keys);
    add(head.value_gates, tokens, values);
    add(head.k, tokens, keys);
    add(head.v, tokens, values);
  }

 private:
  static constexpr Index kFloatsOfDepth = 16;
};

/// Everything a task of forward or backward reads.
struct LinearCpuCall : LinearArrays<Floats, Floats> {
  explicit LinearCpuCall(const LinearProblem& problem);

  LinearHead head(Index sequence, Index h) const;
  /// Rows of head h of an array [B,T,heads,width], in the order of a sequence; no rows for an
  /// absent array.
  template <class T>
  RowsOf<T> rows(T* array, Index sequence, Index heads, Index h, Index width) const {
    const LinearSequence& s = d.sequences[as_size(sequence)];
    if (!array || s.tokens.empty()) return {};
    const Index stride = heads * width;
    return {array + d.token(s, 0) * stride + h * width, d.reverse ? -stride : stride};
  }
  /// [K,V] of an array of states; null when absent.
  const float* state(const Floats& states, Index sequence, Index h) const;

  const LinearDims& d;
};

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
