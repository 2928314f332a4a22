// The walk: a block takes a head of a sequence, a slice of channels to read from and one to write
// to, and keeps that part of the state in registers; tokens come to it in chunks through shared
// memory.
#include "maskctl/attention/cuda/linear/rows.cuh"
#include "maskctl/attention/cuda/linear/walk.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kWarps = 4;                // of a block at most, side by side on the axis `to`
constexpr int kLanesX = 8, kLanesY = 4;  // of a warp, on the axes `from` and `to`
constexpr int kMostTokens = 32;          // of a chunk, which divide kLeastInterval
constexpr int kTokensAtOnce = 4;         // that a warp has on their way to shared memory

/// Channels of a block on `from`, x, and on `to`, y. Lane (i, j) of a warp has x of
/// 4 i + [0, 4) + 32 times 0, 1, ..., and the per_lane y from per_lane j on.
template <int groups, int per_lane>
struct Tile {
  static constexpr int kX = 4 * kLanesX * groups;
  static constexpr int kCells = 4 * groups;  // of one y in a lane
  static constexpr int kWarpY = kLanesY * per_lane;
  static constexpr int kY = kWarps * kWarpY;
};

/// What one launch adds to the walk.
struct Parameters {
  LinearWalk walk;
  const LinearRun* runs;
  Index intervals, interval_tokens, token_step;
  unsigned heads, x_slices, y_slices;
  int chunk_tokens;
};

/// The part of a call that a block has.
struct Place {
  Index sequence, head, slice;  // slice: of `from`
  Index first_x, first_y;
  LinearRun run;
};

template <class T>
__device__ Place place(const Parameters& p) {
  unsigned n = blockIdx.x;
  const Index y = n % p.y_slices;
  n /= p.y_slices;
  const Index slice = n % p.x_slices;
  n /= p.x_slices;
  const Index head = n % p.heads, sequence = n / p.heads;
  return {sequence, head, slice, slice * T::kX, y * T::kY, p.runs[sequence]};
}

/// Some tokens of a run, in the order of the walk.
struct Chunk {
  Range times;
  bool backwards;
  int count;

  __device__ Index time(int step) const {
    return backwards ? times.end - 1 - step : times.begin + step;
  }
  /// Of the token whose decays act between the step before and this one; may be past the run.
  __device__ Index decay_time(int step) const { return time(step) + backwards; }
};

/// The chunk that starts a walk; chunks begin at multiples of `tokens`, a power of 2.
__device__ Chunk first_chunk(Index length, int tokens, bool backwards) {
  const Index begin = backwards && length > 0 ? (length - 1) & ~Index{tokens - 1} : 0;
  const Index end = begin + tokens < length ? begin + tokens : length;
  return {{begin, end}, backwards, static_cast<int>(end - begin)};
}
/// The one after it; of no tokens past the end of the walk.
__device__ Chunk next_chunk(const Chunk& chunk, Index length, int tokens) {
  if (chunk.backwards) {
    const Index begin = chunk.times.begin - tokens;
    return {{begin, begin + tokens}, true, begin < 0 ? 0 : tokens};
  }
  const Index begin = chunk.times.end, end = begin + tokens < length ? begin + tokens : length;
  return {{begin, end}, false, static_cast<int>(end - begin)};
}

/// The rows of a chunk in shared memory. Channels past the arrays are 0.
template <class T>
struct Staged {
  float *read, *write, *decay;      // [tokens, kX]
  float *write_y, *decay_y, *sums;  // [tokens, kY]
  float* own;                       // [tokens]: what a token writes and reads of itself

  __device__ explicit Staged(int tokens)
      : read(reinterpret_cast<float*>(dynamic_shared())),
        write(read + tokens * T::kX),
        decay(write + tokens * T::kX),
        write_y(decay + tokens * T::kX),
        decay_y(write_y + tokens * T::kY),
        sums(decay_y + tokens * T::kY),
        own(sums + tokens * T::kY) {}
  static constexpr int bytes(int tokens) { return tokens * (3 * T::kX + 3 * T::kY + 1) * 4; }
};

/// to[step][x] = finish(load(step, x)) for all steps: a warp takes whole rows, some at once, so
/// that several loads are on their way.
template <int width, class Load, class Finish>
__device__ void fill_rows(int count, float* to, Load load, Finish finish) {
  constexpr int kParts = (width + 31) / 32;
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int warps = static_cast<int>(blockDim.x / 32);
  for (int first = warp; first < count; first += kTokensAtOnce * warps) {
    float x[kTokensAtOnce][kParts];
#pragma unroll
    for (int r = 0; r < kTokensAtOnce; ++r) {
      const int step = first + r * warps;
#pragma unroll
      for (int j = 0; j < kParts; ++j) x[r][j] = step < count ? load(step, j * 32 + lane) : 0.0f;
    }
#pragma unroll
    for (int r = 0; r < kTokensAtOnce; ++r) {
      const int step = first + r * warps;
#pragma unroll
      for (int j = 0; j < kParts; ++j) {
        if (step < count) to[step * width + j * 32 + lane] = finish(x[r][j]);
      }
    }
  }
}

/// The rows of the tokens of a chunk, channels from `first` on.
template <int width>
__device__ void stage(const Parameters& p, const Place& at, const Chunk& chunk,
                      const LinearRows& rows, Index first, float factor, float* to) {
  with_type(rows.array.dtype, [&]<class T>(const T*) {
    const T* const data = static_cast<const T*>(rows.array.data);
    const Index head = at.head / rows.group;
    const auto load = [&](int step, int x) {
      const Index token = at.run.first + chunk.time(step) * p.token_step, channel = first + x;
      return channel < rows.width ? to_float(data[row_of(rows, token, head) + channel]) : 0.0f;
    };
    fill_rows<width>(chunk.count, to, load, [factor](float x) { return x * factor; });
  });
}

__device__ bool has_gates(const LinearAxis& axis) {
  return axis.gates[0].any() || axis.gates[1].any();
}

/// The decays between the steps of a chunk; 1 before the first step of a walk backwards.
template <int width>
__device__ void stage_decays(const Parameters& p, const Place& at, const Chunk& chunk,
                             const LinearAxis& axis, bool with_head, Index first, float* to) {
  const auto load = [&](int step, int x) {
    const Index time = chunk.decay_time(step), channel = first + x;
    if (time >= at.run.length || channel >= axis.width) return 0.0f;
    const Index token = at.run.first + time * p.token_step;
    const float log = log_decay(axis, token, at.head, channel);
    return with_head ? log + log_decay(p.walk.head_gates, token, at.head) : log;
  };
  fill_rows<width>(chunk.count, to, load, [](float log) { return expf(log); });
}

/// Decays of heads go with those of x where there are any, else with those of y.
template <class T>
__device__ void stage_all_decays(const Parameters& p, const Place& at, const Chunk& chunk,
                                 const Staged<T>& staged) {
  const bool by_x = has_gates(p.walk.from);
  if (by_x) stage_decays<T::kX>(p, at, chunk, p.walk.from, true, at.first_x, staged.decay);
  stage_decays<T::kY>(p, at, chunk, p.walk.to, !by_x, at.first_y, staged.decay_y);
}

template <class T>
__device__ void stage_chunk(const Parameters& p, const Place& at, const Chunk& chunk,
                            const Staged<T>& staged) {
  const LinearWalk& w = p.walk;
  const LinearRows& read = w.backwards ? w.from.forward : w.from.backward;
  const LinearRows& write = w.backwards ? w.from.backward : w.from.forward;
  const LinearRows& write_y = w.backwards ? w.to.backward : w.to.forward;
  stage<T::kX>(p, at, chunk, read, at.first_x, 1, staged.read);
  stage<T::kX>(p, at, chunk, write, at.first_x, 1, staged.write);
  stage<T::kY>(p, at, chunk, write_y, at.first_y, w.write_scale, staged.write_y);
  stage_all_decays(p, at, chunk, staged);
}

/// Neighbours in shared memory, in as few loads as can be.
__device__ inline void load_neighbours(const float* from, float (&to)[2]) {
  const float2 x = *reinterpret_cast<const float2*>(from);
  to[0] = x.x, to[1] = x.y;
}
__device__ inline void load_neighbours(const float* from, float (&to)[4]) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
}

/// The sums over the lanes of x: lane x of those returns that of y number x % n.
template <int n>
__device__ float sum_over_x(float (&sums)[n], int lane_x) {
#pragma unroll
  for (int half = n / 2; half > 0; half /= 2) {
    const bool upper = (lane_x & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float kept = upper ? sums[i + half] : sums[i];
      sums[i] = kept + __shfl_xor_sync(~0u, upper ? sums[i] : sums[i + half], half);
    }
  }
#pragma unroll
  for (int bit = n; bit < kLanesX; bit *= 2) sums[0] += __shfl_xor_sync(~0u, sums[0], bit);
  return sums[0];
}

/// The cells of a state that a lane has.
template <int groups, int per_lane>
struct Cells {
  using T = Tile<groups, per_lane>;
  float cell[T::kCells][per_lane];
  int lane_x, x, y;  // of the lane's first cell in the tile

  __device__ Cells()
      : lane_x(static_cast<int>(threadIdx.x) % kLanesX),
        x(4 * lane_x),
        y(static_cast<int>(threadIdx.x) / kLanesX * per_lane) {}

  /// f(i, j, place) for cell[i][j] of an array of states; those past it are left out.
  template <class F>
  __device__ void each(const LinearWalk& w, const Place& at, Index state, F f) const {
    const Index begin = (state * w.heads + at.head) * w.from.width * w.to.width;
#pragma unroll
    for (int i = 0; i < T::kCells; ++i) {
      const Index from = at.first_x + x + i / 4 * 32 + i % 4;
#pragma unroll
      for (int j = 0; j < per_lane; ++j) {
        const Index to = at.first_y + y + j;
        if (from < w.from.width && to < w.to.width) {
          f(i, j, begin + from * w.from.stride + to * w.to.stride);
        }
      }
    }
  }

  __device__ void load(const LinearWalk& w, const Place& at) {
#pragma unroll
    for (auto& row : cell) {
#pragma unroll
      for (float& value : row) value = 0;
    }
    if (!w.first.data) return;
    each(w, at, at.sequence, [&](int i, int j, Index n) { cell[i][j] = element(w.first, n); });
  }

  __device__ void store(const LinearWalk& w, const Place& at, Index state,
                        const AnyResult& to) const {
    each(w, at, state, [&](int i, int j, Index n) { put(to, n, cell[i][j]); });
  }

  /// Of cell[i][j] at a step.
  __device__ float decay(const Staged<T>& staged, int step, bool by_x, int i, int j) const {
    const float decay_y = staged.decay_y[step * T::kY + y + j];
    return by_x ? decay_y * staged.decay[step * T::kX + x + i / 4 * 32 + i % 4] : decay_y;
  }
  __device__ void decay_all(const Staged<T>& staged, int step, bool by_x) {
#pragma unroll
    for (int i = 0; i < T::kCells; ++i) {
#pragma unroll
      for (int j = 0; j < per_lane; ++j) cell[i][j] *= decay(staged, step, by_x, i, j);
    }
  }

  /// One step: decays the cells, reads them, writes to them.
  template <bool by_x, bool by_y>
  __device__ __forceinline__ void take(const Staged<T>& staged, int step) {
    float sums[per_lane] = {}, written[per_lane], decay_y[per_lane];
    load_neighbours(staged.write_y + step * T::kY + y, written);
    if (by_y) load_neighbours(staged.decay_y + step * T::kY + y, decay_y);
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      const int at = step * T::kX + group * 32 + x;
      float read[4], write[4], decay_x[4];
      load_neighbours(staged.read + at, read);
      load_neighbours(staged.write + at, write);
      if (by_x) load_neighbours(staged.decay + at, decay_x);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < per_lane; ++j) {
          float& value = cell[4 * group + i][j];
          if (by_x && by_y) value *= decay_x[i] * decay_y[j];
          if (by_x && !by_y) value *= decay_x[i];
          if (!by_x) value *= decay_y[j];
          sums[j] += read[i] * value;
          value += write[i] * written[j];
        }
      }
    }
    const float sum = sum_over_x(sums, lane_x);
    if (lane_x < per_lane) staged.sums[step * T::kY + y + lane_x] = sum;
  }

  template <bool by_x, bool by_y>
  __device__ __forceinline__ void take_all(const Staged<T>& staged, int count) {
#pragma unroll 2
    for (int step = 0; step < count; ++step) take<by_x, by_y>(staged, step);
  }
};

/// products of a walk backwards, which stands at the end of an interval.
template <int groups, int per_lane>
__device__ void multiply_states(const Parameters& p, const Place& at, const Range& times,
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

/// own[step] = read * write, summed over x: a warp takes a step.
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

/// The results of a chunk, from sums and own.
template <class T>
__device__ void write_rows(const Parameters& p, const Place& at, const Chunk& chunk,
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
  const Place at = place<T>(p);
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
  if (w.backwards && length > 0) {  // the decays of the first token
    stage_all_decays(p, at, {{-1, 0}, true, 1}, staged);
    __syncthreads();
    cells.decay_all(staged, 0, by_x);
  }
  cells.store(w, at, at.sequence, w.last);
}

template <int groups, int per_lane>
void run(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk) {
  using T = Tile<groups, per_lane>;
  constexpr int kSharedBytes = 40 << 10;  // of a block, so that four can share a multiprocessor
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

void walk(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk) {
  if (walk.from.width <= 32) return run<1, 4>(workspace, plan, walk);
  if (walk.from.width <= 64) return run<2, 4>(workspace, plan, walk);
  if (walk.from.width <= 128) return run<4, 2>(workspace, plan, walk);
  run<8, 2>(workspace, plan, walk);
  static_assert(Tile<8, 2>::kX == LinearWalk::kWidest);
}

}  // namespace maskctl::attention::cuda
