// How the work of a call is divided among blocks. It is worked out on the GPU, where lengths may
// be known only there.
#pragma once

#include "maskctl/attention/cuda/paged/call.cuh"

namespace maskctl::attention::cuda {

constexpr Index kMostSplits = 256;  // enough for one tile to keep the largest GPU busy

/// A vector is one query head of one row. Vectors of a sequence that share a key head are cut into
/// tiles of neighbours, and the keys of a tile into equal splits. A task is one split of one tile
/// and key head; tasks of a sequence follow each other, key heads fastest.
struct Scheduled {
  PagedSequence sequence;
  Index first_task = 0;
  Index first_part = 0;  // index of the first partial result, if tiles are split; each task has one
  Index tiles = 0, splits = 1;
  bool is_valid = true;  // false: the rows of the sequence become NaN
};

/// Limits of a schedule, known before it is made.
struct ScheduleBounds {
  Index vectors = 0;  // vectors of a tile at most
  Index wanted = 0;   // how many tasks keep the GPU busy
  Index tasks = 0, parts = 0;
};

/// The limits of a schedule whose tiles have at most `vectors` vectors.
ScheduleBounds schedule_bounds(const PagedCall& call, const PagedPlan& plan,
                               const PagedCache& cache, Index vectors);

/// Returns one entry for each sequence and one past the last, which has the number of tasks. If the
/// plan asks for it, checks the arrays of the plan first.
const Scheduled* make_schedule(Workspace& workspace, const PagedCall& call, const PagedPlan& plan,
                               const ScheduleBounds& bounds);

}  // namespace maskctl::attention::cuda
