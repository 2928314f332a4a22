// Sums of 64 x 64 elements that kernels for Hopper GPUs keep in f32 memory, and how they are
// written to an array.
#pragma once

#include "maskctl/attention/cuda/hopper/wgmma.cuh"
#include "maskctl/base/index.h"

namespace maskctl::attention::cuda::hopper {

/// A piece is 64 x 64 sums in fragment order: element i of thread t has index (i / 4 * 128 + t) * 4
/// + i % 4.
inline constexpr int kPieceFloats = 64 * 64, kPieceBytes = kPieceFloats * 4;

/// Writes the thread's fragment x to a piece.
__device__ __forceinline__ void keep_piece(const float* x, float* piece) {
  auto* const to = reinterpret_cast<float4*>(piece) + threadIdx.x % 128;
#pragma unroll
  for (int i = 0; i < 32; i += 4) to[32 * i] = make_float4(x[i], x[i + 1], x[i + 2], x[i + 3]);
}
/// Adds to x the thread's fragment of a piece.
__device__ __forceinline__ void add_piece(const float* piece, float (&x)[32]) {
  const auto* const from = reinterpret_cast<const float4*>(piece) + threadIdx.x % 128;
#pragma unroll
  for (int i = 0; i < 32; i += 4) {
    const float4 four = from[32 * i];
    x[i] += four.x, x[i + 1] += four.y, x[i + 2] += four.z, x[i + 3] += four.w;
  }
}

/// Writes two rows of up to 64 sums, times `factor`. Four lanes have these rows in their fragments
/// x. to[side] is where row fragment_row(thread, 2 * side) begins, or null to skip it. Only the
/// first `columns` columns are written, a multiple of 8.
template <class T>
__device__ __forceinline__ void store_rows(const float* x, float factor, T* const (&to)[2],
                                           int columns) {
  const int quad = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int side = 0; side < 2; ++side) {
#pragma unroll
    for (int i = 0; i < 32; i += 16) {
      std::uint32_t pairs[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float* const pair = x + i + 4 * j + 2 * side;
        pairs[j] = rounded_pair<T>(pair[0] * factor, pair[1] * factor);
      }
      // The four lanes of a row exchange pairs, so that each of them has 8 adjacent columns.
#pragma unroll
      for (int bit = 1; bit < 4; bit *= 2) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if ((j & bit) != 0) continue;
          const bool is_upper = (quad & bit) != 0;
          const std::uint32_t got = __shfl_xor_sync(~0u, is_upper ? pairs[j] : pairs[j + bit], bit);
          (is_upper ? pairs[j] : pairs[j + bit]) = got;
        }
      }
      const int column = 2 * i + 8 * quad;
      if (to[side] && column < columns) {
        *reinterpret_cast<uint4*>(to[side] + column) =
            make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
      }
    }
  }
}
/// Writes 64 x 64 sums, times `factor`, to an array that begins at `to`; x is the thread's
/// fragment. Only the first `rows` rows and `columns` columns are written; `columns` is a multiple
/// of 8.
template <class T>
__device__ __forceinline__ void store_piece(const float* x, float factor, T* to, Index stride,
                                            int rows, int columns) {
  T* rows_of_thread[2];
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    const int row = fragment_row(static_cast<int>(threadIdx.x) % 128, 2 * side);
    rows_of_thread[side] = row < rows ? to + row * stride : nullptr;
  }
  store_rows(x, factor, rows_of_thread, columns);
}

}  // namespace maskctl::attention::cuda::hopper
