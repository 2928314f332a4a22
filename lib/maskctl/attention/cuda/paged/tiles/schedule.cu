// One block numbers the tasks of all sequences.
#include <algorithm>

#include "maskctl/attention/cuda/block_sum.cuh"
#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/paged/source.cuh"
#include "maskctl/attention/cuda/paged/tiles/schedule.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 256;
constexpr Index kLeastKeys = 128;  // the least keys of a split: a few stages, so that loads overlap

/// The entry of sequence n in the schedule: its rows and keys, whether it is valid, and how many
/// tiles of `vectors` query vectors its rows take. Empty past the last sequence.
__device__ Scheduled to_compute(const PagedCall& c, const Source& source, Index vectors, Index n) {
  Scheduled entry;
  if (n >= source.arrays.sequences) return entry;
  const SourceSequence checked = source.checked(c, n);
  entry.sequence = checked.sequence, entry.is_valid = checked.is_valid;
  entry.tiles = ceil_div(entry.sequence.rows.size() * c.group, vectors);
  return entry;
}

/// How many keys the last tile of a sequence reads.
__device__ Index span_of(const PagedCall& c, const Scheduled& entry, Index vectors) {
  if (!entry.is_valid || entry.tiles == 0) return 0;
  const PagedSequence& s = entry.sequence;
  const Index first_row = s.rows.begin + (entry.tiles - 1) * vectors / c.group;
  return Range{c.visible(s, first_row).begin, s.keys.end}.size();
}

/// Makes the schedule, with one block. First counts the keys that all tiles read, from which
/// follows how many keys a split takes; then numbers the tasks.
__global__ void schedule(const PagedCall c, const Source source, const ScheduleBounds bounds,
                         Scheduled* out) {
  const Index count = source.arrays.sequences;
  Index keys = 0, all_keys = 0;
  for (Index n = threadIdx.x; n < count; n += kThreads) {
    const Scheduled entry = to_compute(c, source, bounds.vectors, n);
    keys += entry.tiles * c.kv_heads * span_of(c, entry, bounds.vectors);
  }
  sum_before<kThreads>(keys, all_keys);
  Index split_keys = ceil_div(all_keys, bounds.wanted);
  if (split_keys < kLeastKeys) split_keys = kLeastKeys;
  Index first_task = 0, first_part = 0;
  for (Index first = 0; first <= count; first += kThreads) {
    const Index n = first + threadIdx.x;
    Scheduled entry = to_compute(c, source, bounds.vectors, n);
    const Index splits = ceil_div(span_of(c, entry, bounds.vectors), split_keys);
    entry.splits = splits < 1 ? 1 : splits > kMostSplits ? kMostSplits : splits;
    const Index tasks = entry.tiles * c.kv_heads * entry.splits;
    Index new_tasks = 0, new_parts = 0;
    entry.first_task = first_task + sum_before<kThreads>(tasks, new_tasks);
    entry.first_part = first_part + sum_before<kThreads>(entry.splits > 1 ? tasks : 0, new_parts);
    if (n <= count) out[n] = entry;
    first_task += new_tasks, first_part += new_parts;
  }
}

}  // namespace

ScheduleBounds schedule_bounds(const PagedCall& call, const PagedPlan& plan,
                               const PagedCache& cache, Index vectors) {
  ScheduleBounds bounds;
  bounds.vectors = vectors;
  // Two or three tasks for each block that runs at a time. A multiprocessor runs six blocks at a
  // time where tiles are small, two where they are large.
  bounds.wanted = (vectors <= 8 ? 16 : 4) * properties_in_use().multiprocessors;
  const Index tiles = ceil_div(call.rows * call.group, vectors) + plan.arrays().sequences;
  const Index splits =
      std::clamp<Index>(ceil_div(plan.most_keys(cache), kLeastKeys), 1, kMostSplits);
  const Index all = tiles * call.kv_heads * splits;
  bounds.tasks = std::min(tiles * call.kv_heads + bounds.wanted, all);
  // If a tile has several splits, each is at least half as long as wanted. So there are at most
  // twice as many partial results as wanted tasks.
  bounds.parts = splits == 1 ? 0 : std::min(2 * bounds.wanted, all);
  return bounds;
}

const Scheduled* make_schedule(Workspace& workspace, const PagedCall& call, const PagedPlan& plan,
                               const ScheduleBounds& bounds) {
  const Source source = checked_source(workspace, call, plan);
  Scheduled* const entries = workspace.take<Scheduled>(plan.arrays().sequences + 1);
  launch("schedule", schedule, 1, kThreads, 0, workspace.stream(), call, source, bounds, entries);
  return entries;
}

}  // namespace maskctl::attention::cuda
