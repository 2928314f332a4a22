// Merges the partial results of tiles whose keys are split, in the order of the splits.
#include "maskctl/attention/cuda/paged/tiles/merge.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kMergeThreads = 128;

/// Merges the partial results of one vector, which is a query head of a row.
__device__ void merge(const PagedCall& c, const Tiling& t, const Task& task, int vector,
                      const Parts& parts, AnyResult out) {
  __shared__ float tops[kMostSplits], sums[kMostSplits], weights[kMostSplits];
  const auto index = [&](Index split) {
    return (task.first_part + split * c.kv_heads) * t.vectors + vector;
  };
  __syncthreads();  // until all threads are done with the vector before
  for (Index n = threadIdx.x; n < task.splits; n += kMergeThreads) {
    tops[n] = parts.top[index(n)], sums[n] = parts.sum[index(n)];
  }
  __syncthreads();
  float top = kNothing, sum = 0;
  for (Index n = 0; n < task.splits; ++n) top = fmaxf(top, tops[n]);
  for (Index n = threadIdx.x; n < task.splits; n += kMergeThreads) {
    weights[n] = rescale_factor(tops[n], top);
  }
  __syncthreads();
  for (Index n = 0; n < task.splits; ++n) sum += weights[n] * sums[n];
  const float factor = c.to_result(q_head_of(c, task, vector), top, sum);
  const bool sees = !c.visible(task.sequence, row_of(c, task, vector)).empty();
  const Index to = element_of(c, task, vector);
  for (Index x = threadIdx.x; x < c.dim; x += kMergeThreads) {
    float value = 0;
#pragma unroll 8
    for (Index n = 0; n < task.splits; ++n) {
      value += weights[n] * parts.values[index(n) * c.dim + x];
    }
    put(out, to + x, sees ? value * factor : 0);
  }
}

/// Merges the tiles that were split. A tile of n splits is merged by n blocks of threads, which
/// share its vectors.
__global__ void __launch_bounds__(kMergeThreads)
    merge_tiles(const PagedCall c, const Tiling t, const Scheduled* entries, Index count,
                const Parts parts, const AnyResult out) {
  if (blockIdx.x >= entries[count].first_task) return;
  const Task task = read_task(c, entry_of(entries, count, blockIdx.x), t.vectors);
  if (task.splits == 1) return;
  for (Index v = task.split; v < task.vectors; v += task.splits) {
    merge(c, t, task, static_cast<int>(v), parts, out);
  }
}

}  // namespace

void merge_splits(Stream stream, const PagedCall& call, const Tiling& t, unsigned tasks,
                  const Scheduled* entries, Index count, const Parts& parts, AnyResult out) {
  launch("paged_merge", merge_tiles, tasks, kMergeThreads, 0, stream, call, t, entries, count,
         parts, out);
}

}  // namespace maskctl::attention::cuda
