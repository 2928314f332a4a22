// Sums of 64 x 64 as kernels of Hopper GPUs leave them in f32 memory, and their way to an array.
#pragma once

#include "maskctl/attention/cuda/hopper/wgmma.cuh"
#include "maskctl/base/index.h"

namespace maskctl::attention::cuda::hopper {

/// A piece is 64 x 64 sums in the order of their fragments: element i of thread t is number
/// (i / 4 * 128 + t) * 4 + i % 4.
inline constexpr int kPieceFloats = 64 * 64, kPieceBytes = kPieceFloats * 4;

/// Writes the thread's fragment x to a piece.
__device__ __forceinline__ void keep_piece(const float* x, float* piece) {
  auto* const to = reinterpret_cast<float4*>(piece) + threadIdx.x % 128;
#pragma unroll
  for (int i = 0; i < 32; i += 4) to[32 * i] = make_float4(x[i], x[i + 1], x[i + 2], x[i + 3]);
}
/// Adds the thread's fragment of a piece to x.
__device__ __forceinline__ void add_piece(const float* piece, float (&x)[32]) {
  const auto* const from = reinterpret_cast<const float4*>(piece) + threadIdx.x % 128;
#pragma unroll
  for (int i = 0; i < 32; i += 4) {
    const float4 four = from[32 * i];
    x[i] += four.x, x[i + 1] += four.y, x[i + 2] += four.z, x[i + 3] += four.w;
  }
}

/// Writes 64 x 64 sums times `factor`, of which x is the thread's fragment, to an array of `rows`
/// rows from `to` on; `columns` of a row exist, a multiple of 8.
template <class T>
__device__ __forceinline__ void store_piece(const float* x, float factor, T* to, Index stride,
                                            int rows, int columns) {
  const int lane = static_cast<int>(threadIdx.x) % 32, quad = lane % 4;
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    const int row = static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane / 4 + 8 * side;
#pragma unroll
    for (int i = 0; i < 32; i += 16) {
      std::uint32_t pairs[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float* const pair = x + i + 4 * j + 2 * side;
        pairs[j] = rounded_pair<T>(pair[0] * factor, pair[1] * factor);
      }
      // Each of four lanes gets one of four groups of 8 columns.
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
      if (row < rows && column < columns) {
        *reinterpret_cast<uint4*>(to + row * stride + column) =
            make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
      }
    }
  }
}

}  // namespace maskctl::attention::cuda::hopper
