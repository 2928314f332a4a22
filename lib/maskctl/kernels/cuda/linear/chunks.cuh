// Loads tokens to shared memory, a chunk at a time, for the recurrence of linear attention.
#pragma once

#include "maskctl/kernels/cuda/linear/linear_walk.h"
#include "maskctl/kernels/cuda/linear/rows.cuh"

namespace maskctl::attention::cuda::linear {

inline constexpr int kWarps = 4;                // warps of a block at most, along the axis `to`
inline constexpr int kLanesX = 8, kLanesY = 4;  // lanes of a warp on the axes `from` and `to`
inline constexpr int kMostTokens = 32;          // tokens of a chunk at most; divides kLeastInterval
inline constexpr int kTokensAtOnce = 4;         // rows that a warp loads at a time

/// The channels of a block: x on the axis `from`, and y on the axis `to`. Lane (i, j) of a warp has
/// y in per_lane * j + [0, per_lane), and x in 32 n + 4 i + [0, 4) for n = 0, ..., groups - 1.
template <int groups, int per_lane>
struct Tile {
  static constexpr int kX = 4 * kLanesX * groups;
  static constexpr int kCells = 4 * groups;  // cells of a lane for each y
  static constexpr int kWarpY = kLanesY * per_lane;
  static constexpr int kY = kWarps * kWarpY;
};

/// The arguments of a kernel: a LinearWalk, and how the launch divides it among blocks.
struct Parameters {
  LinearWalk walk;
  const LinearRun* runs;
  Index intervals, interval_tokens, token_step;
  unsigned heads, x_slices, y_slices;
  int chunk_tokens;
};

/// What one block of threads computes: a sequence, a head, and a tile of channels of its state.
struct WalkPart {
  Index sequence, head, slice;  // slice: number of the tile of channels of `from`
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

/// Consecutive tokens of a sequence. Step 0 is the first token, or the last one when backwards.
struct Chunk {
  Range times;
  bool backwards;
  int count;

  __device__ Index time(int step) const {
    return backwards ? times.end - 1 - step : times.begin + step;
  }
  /// The time of the token whose decays apply between step - 1 and step. Backwards, this is the
  /// token after time(step), which may be past the end of the sequence.
  __device__ Index decay_time(int step) const { return time(step) + backwards; }
};

/// The first chunk that a walk takes of a sequence: its first tokens or, when backwards, its last
/// ones. Chunks begin at multiples of `tokens`, a power of 2.
__device__ inline Chunk first_chunk(Index length, int tokens, bool backwards) {
  const Index begin = backwards && length > 0 ? (length - 1) & ~Index{tokens - 1} : 0;
  const Index end = begin + tokens < length ? begin + tokens : length;
  return {{begin, end}, backwards, static_cast<int>(end - begin)};
}
/// The chunk to process after `chunk`; its count is 0 when there are no more tokens.
__device__ inline Chunk next_chunk(const Chunk& chunk, Index length, int tokens) {
  if (chunk.backwards) {
    const Index begin = chunk.times.begin - tokens;
    return {{begin, begin + tokens}, true, begin < 0 ? 0 : tokens};
  }
  const Index begin = chunk.times.end, end = begin + tokens < length ? begin + tokens : length;
  return {{begin, end}, false, static_cast<int>(end - begin)};
}

/// The rows of a chunk in shared memory. Channels past the widths of the arrays are 0.
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

/// Calls put(step * width + x, load(step, x)) for all steps and x. A warp takes whole rows, and
/// loads kTokensAtOnce of them before it puts them. A thread gets the same elements in each call.
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

/// Loads `width` channels of each token of a chunk, from channel `first` on, times `factor`.
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

/// Adds to `to` the log decays of one array of gates, for each step of a chunk. The log decay of a
/// token and channel has index begin + token * token_stride + channel * channel_stride.
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

/// Stores to `to` the decay that applies before each step of a chunk. Backwards, it is 1 before the
/// first step of the sequence.
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

/// Loads the decays of both axes. Decays of heads are multiplied into those of x if x has gates,
/// and else into those of y.
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
