// The state that a block of a chunked walk keeps in registers, and the matrix products with it.
#pragma once

#include "maskctl/attention/cuda/hopper/fragment.cuh"
#include "maskctl/kernels/cuda/linear/hopper/chunk.cuh"

namespace maskctl::attention::cuda::hopper {

/// scores [steps, steps] = read * write' with read and write [steps, kFrom] in shared memory, added
/// to `scores` if `accumulate` is true.
template <class T, int kFrom>
__device__ __forceinline__ void multiply_rows(const unsigned char* read, const unsigned char* write,
                                              float (&scores)[kChunk / 2],
                                              bool accumulate = false) {
  const std::uint64_t rows = k_major(shared_address(read)),
                      columns = k_major(shared_address(write));
#pragma unroll
  for (int k = 0; k < kFrom / 16; ++k) {
    const int at = k / 4 * kPanelBytes + k % 4 * 32;
    wgmma<T, kChunk, 0, 0>(scores, advanced(rows, at), advanced(columns, at), accumulate || k > 0);
  }
}
/// out = weights * y for a panel of y in shared memory, added to `out` if `accumulate` is true.
template <class T>
__device__ __forceinline__ void multiply_y(const std::uint32_t (&weights)[kChunk / 4],
                                           const unsigned char* y, float (&out)[kColumns / 2],
                                           bool accumulate) {
  const std::uint64_t columns = transposed(shared_address(y), 0);
#pragma unroll
  for (int k = 0; k < kChunk / 16; ++k) {
    wgmma<T, kColumns, 1>(out, weights + 4 * k, advanced(columns, k * 16 * kPanelRowBytes),
                          accumulate || k > 0);
  }
}

/// The tile of a head's state that a block computes: up to kFrom channels of `from` by 64 of `to`,
/// in the registers of a warpgroup as wgmma accumulators.
template <class T, int kFrom>
class ChunkedState {
 public:
  static constexpr int kTiles = kFrom / 64;  // a tile has 64 channels of `from`

  __device__ __forceinline__ ChunkedState(const ChunkedCall& call, const ChunkedPart& part)
      : call_(call), part_(part) {
#pragma unroll
    for (auto& tile : cells_) {
#pragma unroll
      for (float& cell : tile) cell = 0;
    }
    const AnyArray& first = call.walk.first;
    if (first.data)
      each(part.sequence, [&](float& cell, Index n, int) { cell = element(first, n); });
  }

  /// Calls f(cell, index, i) for each element of the state that this thread holds. `index` is the
  /// element's offset in an array [states, heads, K, V] at entry `state`, i its number in its tile.
  template <class F>
  __device__ __forceinline__ void each(Index state, F f) {
    const LinearAxis &from = call_.walk.from, &to = call_.walk.to;
    const Index begin = (state * call_.heads + part_.head) * from.width * to.width;
    const int row = fragment_row(thread_here(), 0), column = fragment_column(thread_here(), 0);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < kColumns / 2; ++i) {
        const Index x = 64 * tile + row + i / 2 % 2 * 8;
        const Index y = part_.first_y + column + i / 4 * 8 + i % 2;
        if (x < from.width && y < to.width) {
          f(cells_[tile][i], begin + x * from.stride + y * to.stride, i);
        }
      }
    }
  }
  __device__ __forceinline__ void store(Index state, const AnyResult& to) {
    each(state, [&](float& cell, Index n, int) { put(to, n, cell); });
  }

  /// Multiplies this state elementwise with entry `state` of the array `states`, and sums over the
  /// rows that this thread holds: sums[i] is for the thread's column i, numbered as in
  /// scale_columns().
  __device__ __forceinline__ void sum_products(Index state, const float* states,
                                               float (&sums)[kColumns / 4]) {
#pragma unroll
    for (float& sum : sums) sum = 0;
    each(state, [&](float& cell, Index n, int i) { sums[i / 4 * 2 + i % 2] += cell * states[n]; });
  }

  /// Writes the state, rounded to T, to shared memory, where multiply() reads it. Threads must
  /// synchronize in between.
  __device__ __forceinline__ void store_operand(unsigned char* to) const {
    std::uint32_t pairs[kColumns / 4];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      round_fragment<T>(cells_[tile], pairs);
      store_fragment(to, 0, 64 * tile, 0, pairs);
    }
  }
  /// Like store_operand(), in two parts as split_pair() makes them.
  __device__ __forceinline__ void store_parts(unsigned char* high, unsigned char* low) const {
    std::uint32_t highs[kColumns / 4], lows[kColumns / 4];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      split_fragment<T>(cells_[tile], highs, lows);
      store_fragment(high, 0, 64 * tile, 0, highs);
      store_fragment(low, 0, 64 * tile, 0, lows);
    }
  }
  /// out = read * state, added to `out` if `accumulate` is true.
  __device__ __forceinline__ static void multiply(const unsigned char* read,
                                                  const unsigned char* operand,
                                                  float (&out)[kColumns / 2],
                                                  bool accumulate = false) {
    const std::uint64_t rows = k_major(shared_address(read)),
                        columns = transposed(shared_address(operand), 0);
#pragma unroll
    for (int k = 0; k < kFrom / 16; ++k) {
      wgmma<T, kColumns, 0, 1>(out, advanced(rows, k / 4 * kPanelBytes + k % 4 * 32),
                               advanced(columns, k * 16 * kPanelRowBytes), accumulate || k > 0);
    }
  }
  /// state += write' * y.
  __device__ __forceinline__ void add(const unsigned char* write, const unsigned char* y) {
    const std::uint64_t rows = transposed(shared_address(write), 0),
                        columns = transposed(shared_address(y), 0);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int k = 0; k < kChunk / 16; ++k) {
        const int at = k * 16 * kPanelRowBytes;
        wgmma<T, kColumns, 1, 1>(cells_[tile], advanced(rows, tile * kPanelBytes + at),
                                 advanced(columns, at), 1);
      }
    }
  }
  __device__ __forceinline__ void pin_cells() {
#pragma unroll
    for (auto& tile : cells_) pin(tile);
  }
  /// Scales one of the two rows of a tile of which this thread holds elements; `side` is 0 or 1.
  __device__ __forceinline__ void scale_row(int tile, int side, float factor) {
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      if (i / 2 % 2 == side) cells_[tile][i] *= factor;
    }
  }
  /// Scales the columns of which this thread holds elements, with one factor for each column.
  __device__ __forceinline__ void scale_columns(const float (&factors)[kColumns / 4]) {
#pragma unroll
    for (auto& tile : cells_) {
#pragma unroll
      for (int i = 0; i < kColumns / 2; ++i) tile[i] *= factors[i / 4 * 2 + i % 2];
    }
  }

 private:
  const ChunkedCall& call_;
  const ChunkedPart part_;
  float cells_[kTiles][kColumns / 2];
};

/// Where a chunk's results go: the row of step s begins at element `begin` + s * `step`.
struct ChunkResults {
  Index begin, step;
  int width, count;  // channels from part.first_y on, and steps of the chunk, that exist

  __device__ __forceinline__ ChunkResults(const ChunkedCall& call, const ChunkedPart& part,
                                          const Chunk& chunk)
      : width(static_cast<int>(call.walk.to.width - part.first_y)), count(chunk.count) {
    const LinearWalk& w = call.walk;
    const Index token = part.run.first + chunk.time(0) * call.token_step;
    begin = (token * w.heads + part.head) * w.to.width + part.first_y;
    step = call.token_step * (chunk.backwards ? -1 : 1) * w.heads * w.to.width;
  }

  /// Writes float results; each thread writes its own elements directly.
  __device__ __forceinline__ void write(float* to, const float (&out)[kColumns / 2]) const {
    const int thread = thread_here();
#pragma unroll
    for (int i = 0; i < kColumns / 2; i += 2) {
      const int row = fragment_row(thread, i), column = fragment_column(thread, i);
      if (row < count && column < width) {
        *reinterpret_cast<float2*>(to + begin + row * step + column) =
            make_float2(out[i], out[i + 1]);
      }
    }
  }
  /// Writes results of type T. Each warp reorders its 16 rows in the shared memory `panel`, which
  /// must not be in use otherwise.
  template <class T>
  __device__ __forceinline__ void write(T* to, unsigned char* panel,
                                        const float (&out)[kColumns / 2]) const {
    std::uint32_t pairs[kColumns / 4];
    round_fragment<T>(out, pairs);
    store_fragment(panel, 0, 0, 0, pairs);
    __syncwarp();
    const int lane = thread_here() % 32, column = lane % 8 * 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = static_cast<int>(threadIdx.x) / 32 * 16 + 4 * i + lane / 8;
      if (row < count && column < width) {
        *reinterpret_cast<uint4*>(to + begin + row * step + column) =
            *reinterpret_cast<const uint4*>(panel + swizzled(row, column));
      }
    }
  }
  /// Writes results in the dtype of `to`, float or T.
  template <class T>
  __device__ __forceinline__ void write(const AnyResult& to, unsigned char* panel,
                                        const float (&out)[kColumns / 2]) const {
    if (to.dtype == DType::kFloat32) return write(static_cast<float*>(to.data), out);
    write(static_cast<T*>(to.data), panel, out);
  }
};

/// Steps of a chunk whose row along `to` has an infinity or NaN. In matrix products such an element
/// is replaced by 0, because 0 * NaN would spoil the results of earlier steps, whose scores with it
/// are 0; afterwards results of its channel are set to NaN from its step on.
struct BadSteps {
  int first[kColumns];  // first bad step of each channel; kChunk: none
  int any;

  __device__ __forceinline__ void clear() {
    if (threadIdx.x < kColumns) first[threadIdx.x] = kChunk;
    if (threadIdx.x == 0) any = 0;
  }
  /// Notes the elements among eight that are not finite, and replaces them by 0. Returns whether
  /// there were any.
  template <class T>
  __device__ __forceinline__ bool replace(int step, int column, uint4& x) {
    std::uint32_t* const pairs = reinterpret_cast<std::uint32_t*>(&x);
    bool is_bad = false;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      is_bad |= !is_finite<T>(pairs[n] & 0xffff) || !is_finite<T>(pairs[n] >> 16);
    }
    if (!is_bad) return false;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const int shift = n % 2 * 16;
      if (is_finite<T>(pairs[n / 2] >> shift & 0xffff)) continue;
      pairs[n / 2] &= ~(0xffffu << shift);
      atomicMin(&first[column + n], step);
    }
    atomicExch(&any, 1);
    return true;
  }
  /// Sets the results of each channel to NaN from `delay` steps after its first bad step on.
  __device__ __forceinline__ void spread(float (&out)[kColumns / 2], int delay) const {
    const int thread = thread_here();
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      if (fragment_row(thread, i) >= first[fragment_column(thread, i)] + delay) {
        out[i] = __int_as_float(0x7fffffff);
      }
    }
  }
};

}  // namespace maskctl::attention::cuda::hopper
