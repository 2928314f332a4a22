// The arrays of one linear attention call in the form that the CPU kernels use: f32, one head of
// one sequence at a time, in the order of time.
#pragma once

#include <memory>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/prefetch_queue.h"
#include "maskctl/attention/cpu/worker_pool.h"
#include "maskctl/base/threads.h"
#include "maskctl/kernels/problems/linear_problem.h"

namespace maskctl::attention {

/// The rows of one head in an array: row `step` starts at data + step * stride. stride is negative
/// if time is reversed.
template <class T>
struct RowsOf {
  T* data = nullptr;
  Index stride = 0;
  T* row(Index step) const { return data + step * stride; }
  /// Returns the rows from `step` on. If there is no array, the data pointer of the result is null.
  RowsOf from(Index step) const { return {data ? row(step) : nullptr, stride}; }
  explicit operator bool() const { return data != nullptr; }
};
using Rows = RowsOf<const float>;

/// One head of one sequence. The rows of gates that are not given have a null data pointer.
struct LinearHead {
  Index tokens = 0;
  Rows q, k, v;
  Rows key_gates[2];    // K numbers per token: g if it has one for each key channel, and gk
  Rows value_gates;     // V numbers per token: gv
  Rows head_gates;      // one number per token: g if it has one for each head
  float head_gate = 0;  // g_gamma
};

/// Prefetches rows that will soon be read or written. Linear attention has many rows but few
/// products per token, so it prefetches faster than softmax attention.
class LinearPrefetchQueue : public PrefetchQueue {
 public:
  LinearPrefetchQueue() : PrefetchQueue(kFloatsOfDepth) {}

  /// Queues the rows of some tokens; does nothing if there are none.
  template <class T>
  void add(const RowsOf<T>& rows, Range tokens, Index width) {
    if (rows && !tokens.empty())
      PrefetchQueue::add(rows.row(tokens.begin), rows.stride, tokens.size(), width);
  }
  /// Queues the keys, values and gates of some tokens.
  void add_keys(const LinearHead& head, Range tokens, Index keys, Index values) {
    for (const Rows& gates : head.key_gates) add(gates, tokens, keys);
    add(head.value_gates, tokens, values);
    add(head.k, tokens, keys);
    add(head.v, tokens, values);
  }

 private:
  static constexpr Index kFloatsOfDepth = 16;
};

/// Everything that a task of the forward or backward pass reads.
struct LinearCpuCall : LinearArrays<Floats, Floats> {
  explicit LinearCpuCall(const LinearProblem& problem);

  LinearHead head(Index sequence, Index h) const;
  /// Returns the rows of head h of one sequence in an array [B,T,heads,width]. Rows are in the
  /// order of time: from the last token to the first if time is reversed. If there is no array, or
  /// the sequence has no tokens, the data pointer of the result is null.
  template <class T>
  RowsOf<T> rows(T* array, Index sequence, Index heads, Index h, Index width) const {
    const LinearSequence& s = d.sequences[as_size(sequence)];
    if (!array || s.tokens.empty()) return {};
    const Index stride = heads * width;
    return {array + d.token(s, 0) * stride + h * width, d.reverse ? -stride : stride};
  }
  /// The state [K,V] of one head of a sequence in an array of states; null if there is no array.
  const float* state(const Floats& states, Index sequence, Index h) const;

  const LinearDims& d;
};

/// Calls task(worker, sequence, head) for each of `heads` heads of each sequence; no other thread
/// uses the same Worker(d) at that time. Runs on all threads, unless there is so little work (a
/// step of streaming inference) that starting threads would take longer.
template <class Worker, class Task>
void for_each_linear_task(const LinearDims& d, Index heads, Task&& task) {
  WorkerPool<Worker> workers;
  const auto run = [&](Index n) {
    workers.run([&d] { return std::make_unique<Worker>(d); },
                [&](Worker& worker) { task(worker, n / heads, n % heads); });
  };
  constexpr double kWorthThreads = 4e6;  // multiplications in the time that starting threads takes
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
