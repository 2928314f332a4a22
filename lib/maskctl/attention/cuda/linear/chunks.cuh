// Tokens on their way to the cells of a walk: chunks of them, in shared memory.
#pragma once

#include "maskctl/attention/cuda/linear/rows.cuh"
#include "maskctl/attention/cuda/linear/walk.h"

namespace maskctl::attention::cuda::linear {

inline constexpr int kWarps = 4;                // per block at most, side by side on the axis `to`
inline constexpr int kLanesX = 8, kLanesY = 4;  // lanes of a warp on the axes `from` and `to`
inline constexpr int kMostTokens = 32;          // per chunk; chunks divide kLeastInterval
inline constexpr int kTokensAtOnce = 4;         // that a warp loads to shared memory at a time

/// Channels of a block on `from`, x, and on `to`, y. Lane (i, j) of a warp has the per_lane y from
/// per_lane * j on, and the x of 4 i + [0, 4) + 32 n for n = 0, 1, ...
template <int groups, int per_lane>
struct Tile {
  static constexpr int kX = 4 * kLanesX * groups;
  static constexpr int kCells = 4 * groups;  // per y in a lane
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

/// The part of a call that one block of threads computes.
struct WalkPart {
  Index sequence, head, slice;  // slice: of `from`
  Index first_x, first_y;
  LinearRun run;
};

template <class T>
__device__ WalkPart walk_part(const Parameters& p) {
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
  /// The time of the token whose decays act between the step before and this one; may be past the
  /// run.
  __device__ Index decay_time(int step) const { return time(step) + backwards; }
};

/// The chunk that starts a walk; chunks begin at multiples of `tokens`, a power of 2.
__device__ inline Chunk first_chunk(Index length, int tokens, bool backwards) {
  const Index begin = backwards && length > 0 ? (length - 1) & ~Index{tokens - 1} : 0;
  const Index end = begin + tokens < length ? begin + tokens : length;
  return {{begin, end}, backwards, static_cast<int>(end - begin)};
}
/// The next chunk; it has no tokens past the end of the walk.
__device__ inline Chunk next_chunk(const Chunk& chunk, Index length, int tokens) {
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
  float* own;                       // [tokens]: read * write of a token, summed over x

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

/// put(step * width + x, load(step, x)) for all steps: a warp takes whole rows, some at once, so
/// that several loads are on their way. Every call gives a thread the same elements.
template <int width, class Load, class Put>
__device__ void each_element(int count, Load load, Put put) {
  static_assert(width % 32 == 0);
  constexpr int kParts = width / 32;
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
        if (step < count) put(step * width + j * 32 + lane, x[r][j]);
      }
    }
  }
}

/// Loads the rows of a chunk's tokens times `factor`, channels from `first` on.
template <int width>
__device__ void stage(const Parameters& p, const WalkPart& at, const Chunk& chunk,
                      const LinearRows& rows, Index first, float factor, float* to) {
  with_type(rows.array.dtype, [&]<class T>(const T*) {
    const T* const data = static_cast<const T*>(rows.array.data);
    const Index head = at.head / rows.group;
    const auto load = [&](int step, int x) {
      const Index token = at.run.first + chunk.time(step) * p.token_step, channel = first + x;
      return channel < rows.width ? to_float(data[row_of(rows, token, head) + channel]) : 0.0f;
    };
    each_element<width>(chunk.count, load, [=](int i, float x) { to[i] = x * factor; });
  });
}

__device__ inline bool has_gates(const LinearAxis& axis) {
  return axis.gates[0].any() || axis.gates[1].any();
}

/// Adds the log decays between the steps of a chunk. The decay of a token and channel is at
/// begin + token * token_stride + channel * channel_stride.
template <int width>
__device__ void add_logs(const Parameters& p, const WalkPart& at, const Chunk& chunk,
                         Range channels, const LinearRows& gates, Index begin, Index token_stride,
                         Index channel_stride, float* to) {
  if (!gates.any()) return;
  with_type(gates.array.dtype, [&]<class T>(const T*) {
    const T* const data = static_cast<const T*>(gates.array.data) + begin;
    const auto load = [&](int step, int x) {
      const Index time = chunk.decay_time(step), channel = channels.begin + x;
      if (time >= at.run.length || channel >= channels.end) return 0.0f;
      const Index token = at.run.first + time * p.token_step;
      return to_float(data[token * token_stride + channel * channel_stride]);
    };
    each_element<width>(chunk.count, load, [to](int i, float x) { to[i] += x; });
  });
}

/// The decays between the steps of a chunk; 1 before the first step of a walk backwards.
template <int width>
__device__ void stage_decays(const Parameters& p, const WalkPart& at, const Chunk& chunk,
                             const LinearAxis& axis, bool with_head, Index first, float* to) {
  const auto zero = [](int, int) { return 0.0f; };
  each_element<width>(chunk.count, zero, [to](int i, float x) { to[i] = x; });
  const Range channels{first, axis.width};
  for (const LinearRows& gates : axis.gates) {
    add_logs<width>(p, at, chunk, channels, gates, at.head * gates.width, gates.heads * gates.width,
                    1, to);
  }
  if (with_head) {
    const LinearHeadGates& gates = p.walk.head_gates;
    add_logs<width>(p, at, chunk, channels, gates.of_tokens, at.head, gates.of_tokens.heads, 0, to);
    add_logs<width>(p, at, chunk, channels, gates.of_heads, at.head, 0, 0, to);
  }
  const auto log = [to](int step, int x) { return to[step * width + x]; };
  each_element<width>(chunk.count, log, [to](int i, float x) { to[i] = expf(x); });
}

/// Decays of heads are part of the decays along x where x has gates, else of those along y.
template <class T>
__device__ void stage_all_decays(const Parameters& p, const WalkPart& at, const Chunk& chunk,
                                 const Staged<T>& staged) {
  const bool by_x = has_gates(p.walk.from);
  if (by_x) stage_decays<T::kX>(p, at, chunk, p.walk.from, true, at.first_x, staged.decay);
  stage_decays<T::kY>(p, at, chunk, p.walk.to, !by_x, at.first_y, staged.decay_y);
}

template <class T>
__device__ void stage_chunk(const Parameters& p, const WalkPart& at, const Chunk& chunk,
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

}  // namespace maskctl::attention::cuda::linear
