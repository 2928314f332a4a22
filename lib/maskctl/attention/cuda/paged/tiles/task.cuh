// The task of a block that attends over pages, and the partial results that it writes if the keys
// of a tile are split among blocks.
#pragma once

#include "maskctl/attention/cuda/paged/tiles/schedule.cuh"
#include "maskctl/attention/cuda/paged/tiles/tiling.h"

namespace maskctl::attention::cuda {

/// One task, which is one split of the keys of a tile of vectors; read_task() reads it from the
/// schedule.
struct Task {
  PagedSequence sequence;
  Index first_vector, head, split, splits;
  // indices of partial results, if the tile is split: the tile's first, the task's
  Index first_part, part;
  int vectors;
  Range keys;  // keys of the tile, in all of its splits
  bool is_valid;
};

/// Partial results: for each vector (query head of a row) of each part, its maximum logit, the sum
/// of its weights and the weighted sums of the values.
struct Parts {
  float *top, *sum, *values;
};

__device__ inline Index row_of(const PagedCall& c, const Task& task, int vector) {
  return task.sequence.rows.begin + (task.first_vector + vector) / c.group;
}
__device__ inline Index q_head_of(const PagedCall& c, const Task& task, int vector) {
  return task.head * c.group + (task.first_vector + vector) % c.group;
}
/// The first element of a vector in the queries and in the results.
__device__ inline Index element_of(const PagedCall& c, const Task& task, int vector) {
  return (row_of(c, task, vector) * c.q_heads + q_head_of(c, task, vector)) * c.dim;
}

/// Finds the schedule entry that a task belongs to: the last one whose first task is not after the
/// task. All lanes of a warp must call it together.
__device__ inline const Scheduled& entry_of(const Scheduled* entries, Index count, Index task) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Index begin = 0, end = count;
  while (end - begin > 1) {
    const Index step = ceil_div(end - begin, 32), at = begin + lane * step;
    const int among = __popc(__ballot_sync(~0u, at < end && entries[at].first_task <= task));
    begin += (among - 1) * step;
    if (begin + step < end) end = begin + step;
  }
  return entries[begin];
}

/// Reads the task of this block from the schedule. Later tiles have more keys and begin first.
__device__ inline Task read_task(const PagedCall& c, const Scheduled& entry, int most_vectors) {
  Task task;
  task.sequence = entry.sequence, task.splits = entry.splits, task.is_valid = entry.is_valid;
  Index n = Index{blockIdx.x} - entry.first_task;
  task.part = entry.first_part + n;
  task.head = n % c.kv_heads, n /= c.kv_heads;
  task.split = n % entry.splits, n /= entry.splits;
  task.first_part = task.part - task.split * c.kv_heads;
  task.first_vector = (entry.tiles - 1 - n) * most_vectors;
  const Index left = entry.sequence.rows.size() * c.group - task.first_vector;
  task.vectors = left < most_vectors ? static_cast<int>(left) : most_vectors;
  task.keys = {c.visible(task.sequence, row_of(c, task, 0)).begin,
               c.visible(task.sequence, row_of(c, task, task.vectors - 1)).end};
  return task;
}

}  // namespace maskctl::attention::cuda
