// The recurrence, token by token. A block computes one head of a sequence for a slice of the
// channels of `from` and a slice of those of `to`. It keeps this tile of the state in registers and
// loads tokens in chunks to shared memory.
#include "maskctl/kernels/cuda/linear/cells.cuh"
#include "maskctl/kernels/cuda/linear/hopper/chunked_walk.h"
#include "maskctl/kernels/cuda/linear/step.h"
#include "maskctl/kernels/cuda/linear/walk.h"

namespace maskctl::attention::cuda {
namespace linear {
namespace {

/// Writes LinearWalk::products of a backward walk for the interval that ends at times.end.
template <int groups, int per_lane>
__device__ void multiply_states(const Parameters& p, const WalkPart& at, const Range& times,
                                const Staged<Tile<groups, per_lane>>& staged,
                                const Cells<groups, per_lane>& cells) {
  const LinearWalk& w = p.walk;
  const Index interval = (times.end - 1) / p.interval_tokens;
  const bool is_last = times.end == at.run.length;
  if (is_last && !w.last_states) return;
  const float* const states = is_last ? w.last_states : w.boundary_states;
  const bool by_x = has_gates(w.from);
  float sums[per_lane] = {};
  cells.each(w, at, is_last ? at.sequence : at.run.first_boundary + interval,
             [&](int i, int j, Index n) {
               sums[j] += cells.cell[i][j] * cells.decay(staged, 0, by_x, i, j) * states[n];
             });
  const float sum = sum_over_x(sums, cells.lane_x);
  const Index y = at.first_y + cells.y + cells.lane_x;
  const Index row = (at.slice * p.intervals + at.run.first_interval + interval) * w.heads + at.head;
  if (cells.lane_x < per_lane && y < w.to.width) w.products[row * w.to.width + y] = sum;
}

/// own[step] = dot product of the step's rows read and write along `from`, one step per warp.
template <class T>
__device__ void find_own(const Staged<T>& staged, int count) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int step = static_cast<int>(threadIdx.x / 32); step < count;
       step += static_cast<int>(blockDim.x / 32)) {
    float sum = 0;
#pragma unroll
    for (int x = step * T::kX; x < (step + 1) * T::kX; x += 32) {
      sum += staged.read[x + lane] * staged.write[x + lane];
    }
    sum = sum_of_lanes(sum);
    if (lane == 0) staged.own[step] = sum;
  }
}

/// Writes the results of a chunk: `sums`, to which earlier steps contribute, and `own`, which a
/// step contributes itself.
template <class T>
__device__ void write_rows(const Parameters& p, const WalkPart& at, const Chunk& chunk,
                           const Staged<T>& staged) {
  const LinearWalk& w = p.walk;
  for (int i = static_cast<int>(threadIdx.x); i < chunk.count * T::kY;
       i += static_cast<int>(blockDim.x)) {
    const int step = i / T::kY;
    const Index y = at.first_y + i % T::kY;
    if (y >= w.to.width) continue;
    const Index token = at.run.first + chunk.time(step) * p.token_step;
    const Index to = ((at.slice * w.tokens + token) * w.heads + at.head) * w.to.width + y;
    const float sum = staged.sums[i];
    if (w.before) w.before[to] = w.out_scale * sum;
    if (w.out.data) put(w.out, to, w.out_scale * (sum + staged.own[step] * staged.write_y[i]));
  }
}

template <int groups, int per_lane>
__global__ void __launch_bounds__(32 * kWarps, groups > 4 ? 2 : 3)
    walk_run(const __grid_constant__ Parameters p) {
  using T = Tile<groups, per_lane>;
  const LinearWalk& w = p.walk;
  const WalkPart at = walk_part<T>(p);
  const Staged<T> staged(p.chunk_tokens);
  const bool by_x = has_gates(w.from), by_y = has_gates(w.to);
  Cells<groups, per_lane> cells;
  cells.load(w, at);
  const Index length = at.run.length;
  for (Chunk chunk = first_chunk(length, p.chunk_tokens, w.backwards); chunk.count > 0;
       chunk = next_chunk(chunk, length, p.chunk_tokens)) {
    const Index end = chunk.times.end;
    const bool at_boundary =
        end % kLeastInterval == 0 && end % p.interval_tokens == 0 && end < length;
    stage_chunk(p, at, chunk, staged);
    __syncthreads();
    if (w.products && (end == length || at_boundary)) {
      multiply_states(p, at, chunk.times, staged, cells);
    }
    if (!by_x) {
      cells.template take_all<false, true>(staged, chunk.count);
    } else if (by_y) {
      cells.template take_all<true, true>(staged, chunk.count);
    } else {
      cells.template take_all<true, false>(staged, chunk.count);
    }
    find_own(staged, chunk.count);
    __syncthreads();
    write_rows(p, at, chunk, staged);
    if (!w.backwards && w.boundary_states && at_boundary) {
      cells.store(w, at, at.run.first_boundary + end / p.interval_tokens - 1,
                  {w.boundary_states, DType::kFloat32});
    }
    __syncthreads();
  }
  if (!w.last.data) return;
  if (w.backwards && length > 0) {  // last, decay the state by the first token's decays
    stage_all_decays(p, at, {{-1, 0}, true, 1}, staged);
    __syncthreads();
    cells.decay_all(staged, 0, by_x);
  }
  cells.store(w, at, at.sequence, w.last);
}

template <int groups, int per_lane>
void run(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk) {
  using T = Tile<groups, per_lane>;
  // shared memory of a block: four blocks fit on a multiprocessor
  constexpr int kSharedBytes = 40 << 10;
  int tokens = kMostTokens;
  while (tokens > 1 && (tokens / 2 >= plan.longest || Staged<T>::bytes(tokens) > kSharedBytes)) {
    tokens /= 2;
  }
  const Index y_slices = ceil_div(walk.to.width, T::kY);
  const Index blocks = plan.sequences * walk.heads * walk.slices() * y_slices;
  const Index warps = std::min<Index>(ceil_div(walk.to.width, T::kWarpY), kWarps);
  const Parameters parameters{walk,
                              plan.runs.data(),
                              plan.intervals,
                              plan.interval_tokens,
                              plan.token_step,
                              static_cast<unsigned>(walk.heads),
                              static_cast<unsigned>(walk.slices()),
                              static_cast<unsigned>(y_slices),
                              tokens};
  launch("linear walk", walk_run<groups, per_lane>, static_cast<unsigned>(blocks),
         static_cast<unsigned>(32 * warps), as_size(Staged<T>::bytes(tokens)), workspace.stream(),
         parameters);
}

}  // namespace
}  // namespace linear

void walk(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk) {
  if (is_step(plan, walk)) return step(workspace, plan, walk);
  if (hopper::takes(plan, walk)) return hopper::chunked_walk(workspace, plan, walk);
  if (walk.from.width <= 32) return linear::run<1, 4>(workspace, plan, walk);
  if (walk.from.width <= 64) return linear::run<2, 4>(workspace, plan, walk);
  if (walk.from.width <= 128) return linear::run<4, 2>(workspace, plan, walk);
  linear::run<8, 2>(workspace, plan, walk);
  static_assert(linear::Tile<8, 2>::kX == LinearWalk::kWidest);
}

}  // namespace maskctl::attention::cuda
