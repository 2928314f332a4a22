// Loads chunks of tokens to shared memory, for linear attention on tensor cores.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "maskctl/attention/cuda/hopper/fragment.cuh"
#include "maskctl/attention/cuda/hopper/kernel.cuh"
#include "maskctl/attention/cuda/hopper/powers.cuh"
#include "maskctl/kernels/cuda/linear/chunks.cuh"

namespace maskctl::attention::cuda::hopper {

using linear::Chunk;

inline constexpr int kChunk = 64;     // tokens of a chunk
inline constexpr int kColumns = 64;   // channels of `to` in a block
inline constexpr int kThreads = 128;  // per block: one warpgroup
inline constexpr int kPanelBytes = kChunk * kPanelRowBytes;

/// The arguments of a kernel: a LinearWalk, and how the launch divides it among blocks.
struct ChunkedCall {
  LinearWalk walk;
  const LinearRun* runs;
  Index token_step;
  unsigned heads, slices;  // slices: how many blocks share the channels of `to`
};
inline ChunkedCall chunked_call(const LinearPlan& plan, const LinearWalk& walk) {
  static_assert(kLeastInterval == kChunk);
  return {walk, plan.runs.data(), plan.token_step, static_cast<unsigned>(walk.heads),
          static_cast<unsigned>(ceil_div(walk.to.width, Index{kColumns}))};
}

/// What one block of threads computes: a sequence, a head, and channels of `to` from first_y on.
struct ChunkedPart {
  Index sequence, head, first_y;
  LinearRun run;

  __device__ __forceinline__ ChunkedPart(const ChunkedCall& call, Index the_sequence,
                                         Index the_head, Index y)
      : sequence(the_sequence), head(the_head), first_y(y), run(call.runs[the_sequence]) {}
  /// What the current block computes. The grid has a block for each sequence, head and slice of
  /// kColumns channels of `to`.
  static __device__ __forceinline__ ChunkedPart of_block(const ChunkedCall& call) {
    const unsigned n = blockIdx.x / call.slices;
    return {call, n / call.heads, n % call.heads, blockIdx.x % call.slices * Index{kColumns}};
  }

  /// The index of this head's chunk that begins at `time` in arrays [chunks of all sequences,
  /// heads].
  __device__ __forceinline__ Index number(const ChunkedCall& call, Index time) const {
    return (run.first_chunk + time / kChunk) * call.heads + head;
  }
};

/// Which of two tiles in shared memory has the level h = half: neighbouring levels take turns.
__device__ __forceinline__ int tile_of_level(int half) {
  return __popc(static_cast<unsigned>(half - 1)) % 2;
}

/// Element n of a pair of 16-bit elements, as float.
template <class T>
__device__ __forceinline__ float element_of_pair(std::uint32_t pair, int n) {
  const auto bits = static_cast<std::uint16_t>(pair >> 16 * n);
  T x;
  __builtin_memcpy(&x, &bits, sizeof(T));
  return to_float(x);
}
/// Splits two floats into pairs of T whose sum has twice as many bits as T (float16: down to
/// 2^-25): the floats rounded to T, and what this rounding leaves of them, rounded as well. If a
/// float is infinite, or too large for T, the sum of its parts is NaN.
template <class T>
__device__ __forceinline__ void split_pair(float first, float second, std::uint32_t& high,
                                           std::uint32_t& low) {
  high = rounded_pair<T>(first, second);
  low = rounded_pair<T>(first - element_of_pair<T>(high, 0), second - element_of_pair<T>(high, 1));
}
/// Splits a pair of elements, each times `scale` and 2^log, as split_pair() does.
template <class T>
__device__ __forceinline__ void split_decayed(std::uint32_t pair, float scale, float first_log,
                                              float second_log, std::uint32_t& high,
                                              std::uint32_t& low) {
  split_pair<T>(scale * element_of_pair<T>(pair, 0) * exp2_approximate(first_log),
                scale * element_of_pair<T>(pair, 1) * exp2_approximate(second_log), high, low);
}
/// split_pair() for a whole fragment; pairs are ordered as in round_fragment().
template <class T, int n>
__device__ __forceinline__ void split_fragment(const float (&d)[n], std::uint32_t (&high)[n / 2],
                                               std::uint32_t (&low)[n / 2]) {
#pragma unroll
  for (int i = 0; i < n / 2; ++i) split_pair<T>(d[2 * i], d[2 * i + 1], high[i], low[i]);
}
/// Whether the bits of a 16-bit element are those of a finite number.
template <class T>
__device__ __forceinline__ bool is_finite(std::uint32_t bits) {
  constexpr std::uint32_t kExponent = std::is_same_v<T, __half> ? 0x7c00 : 0x7f80;
  return (bits & kExponent) != kExponent;
}

/// The rows that a chunk reads of an array: the row of step s begins at begin + s * step.
template <class T>
struct ChunkRows {
  const T* begin;
  Index step;
  int width, count;  // how many channels and steps exist

  __device__ __forceinline__ ChunkRows(const T* first, Index stride, int channels, int steps)
      : begin(first), step(stride), width(channels), count(steps) {}
  __device__ __forceinline__ ChunkRows(const ChunkedCall& call, const ChunkedPart& part,
                                       const Chunk& chunk, const LinearRows& rows, Index first)
      : step(call.token_step * (chunk.backwards ? -1 : 1) * rows.heads * rows.width),
        width(static_cast<int>(rows.width - first)),
        count(chunk.count) {
    const Index token = part.run.first + chunk.time(0) * call.token_step;
    begin = static_cast<const T*>(rows.array.data) + row_of(rows, token, part.head / rows.group) +
            first;
  }
};

/// Starts asynchronous copies of rows to panels of 64 channels in shared memory. Steps and channels
/// that do not exist are set to zero.
template <int panels, class T>
__device__ __forceinline__ void load_rows(unsigned char* to, const ChunkRows<T>& rows) {
  constexpr int kPieces = 8 * panels;              // pieces of 16 bytes in a row
  constexpr int kRowsAtOnce = kThreads / kPieces;  // a multiple of the swizzle's 8 rows
  static_assert(kRowsAtOnce % 8 == 0);
  const int thread = thread_here(), first = thread / kPieces, piece = thread % kPieces;
  const bool inside = piece * 8 < rows.width;
  unsigned char* const here = to + piece / 8 * kPanelBytes + swizzled(first, piece % 8 * 8);
  const T* from = rows.begin + first * rows.step + piece * 8;
#pragma unroll
  for (int i = 0; i < kChunk; i += kRowsAtOnce, from += kRowsAtOnce * rows.step) {
    if (inside && first + i < rows.count) {
      __pipeline_memcpy_async(here + i * kPanelRowBytes, from, 16);
    } else {
      *reinterpret_cast<uint4*>(here + i * kPanelRowBytes) = make_uint4(0, 0, 0, 0);
    }
  }
}

/// Converts a natural log of a decay to base 2, and bounds it from below where the decay is 0 in
/// f32: with -infinity, differences of sums of logs would be NaN.
__device__ __forceinline__ float bounded_log(float log) {
  constexpr float kLeast = -105;
  return (log < kLeast ? kLeast : log) * kLog2E;
}
/// The log decay of the head, to base 2, between step - 1 and step; 0 if there is no such step.
__device__ __forceinline__ float head_log(const ChunkedCall& call, const ChunkedPart& part,
                                          const Chunk& chunk, int step) {
  const Index time = chunk.decay_time(step);
  if (step >= chunk.count || time >= part.run.length) return 0;
  return bounded_log(
      log_decay(call.walk.head_gates, part.run.first + time * call.token_step, part.head));
}

/// Adds to log[i] the log decays of one channel at step first + i, without those of the head.
template <int n>
__device__ __forceinline__ void add_logs(const ChunkedCall& call, const ChunkedPart& part,
                                         const Chunk& chunk, const LinearAxis& axis, Index channel,
                                         int first, float (&log)[n]) {
  // Only steps `begin` to `last` have a decay. For other steps the loop loads the decay of step
  // `begin` and ignores it, so that loads do not depend on branches.
  const int begin = chunk.decay_time(0) < part.run.length ? 0 : 1, last = chunk.count - 1;
  if (channel >= axis.width || begin > last) return;
  for (const LinearRows& gates : axis.gates) {
    if (!gates.any()) continue;
    const Index token = part.run.first + chunk.decay_time(begin) * call.token_step;
    const Index at = row_of(gates, token, part.head) + channel;
    const Index step = call.token_step * (chunk.backwards ? -1 : 1) * gates.heads * gates.width;
    with_type(gates.array.dtype, [&]<class T>(const T*) {
      const T* const data = static_cast<const T*>(gates.array.data) + at;
      const T* here = data + (first - begin) * step;
#pragma unroll
      for (int i = 0; i < n; ++i, here += step) {
        const bool inside = first + i >= begin && first + i <= last;
        const float x = to_float(inside ? *here : *data);
        log[i] += inside ? x : 0;
      }
    });
  }
}

}  // namespace maskctl::attention::cuda::hopper
