// Matrix products of attention over listed blocks, for tiles of queries x kTileKeys keys. For
// scores, the block is a grid of kThreads / 16 x 16 threads, each with two queries and four keys.
// For weighted sums, a warp has some output rows and each lane has four adjacent columns.
#pragma once

#include "maskctl/attention/cuda/blocks/block_plan.h"
#include "maskctl/attention/cuda/launch.cuh"

namespace maskctl::attention::cuda {

constexpr int kKeys = kTileKeys;
constexpr int kDepth = 32;     // elements or rows in shared memory at once
constexpr int kColumns = 128;  // columns of weighted sums per block of threads
// Floats after each row in shared memory: rows stay aligned to float4, and rows that are read at
// the same time are in different banks.
constexpr int kPadding = 4;

// Resident blocks per multiprocessor, for blocks of 128 and 256 threads. They limit a thread to 96
// and 128 registers.
constexpr int kSmallBlocksAtOnce = 5, kLargeBlocksAtOnce = 2;

/// Rows of an array [rows,width], given by row numbers in shared memory; -1 means a row of zeros.
struct Rows {
  AnyArray array;
  Index width;
  const Index* numbers;
};

/// The operands in shared memory: queries and keys for scores, or rows for weighted sums.
template <int kThreads>
union alignas(16) Factors {
  static constexpr int kQueries = kThreads / 8;
  struct {
    float queries[kQueries][kDepth + kPadding];
    float keys[kKeys][kDepth + kPadding];
  } scored;
  float summed[kDepth][kColumns + kPadding];
};

/// to[n][column] = element first + column of row numbers[n], or 0 past the end of the row.
template <int kThreads, int kRows, int kPitch>
__device__ void load_rows(const Rows& rows, Index first, float (&to)[kRows][kPitch]) {
  constexpr int kWidth = kPitch - kPadding;
  static_assert(kRows * kWidth % kThreads == 0);
  with_type(rows.array.dtype, [&]<class T>(const T*) {
    const T* const elements = static_cast<const T*>(rows.array.data);
#pragma unroll 8
    for (int n = 0; n < kRows * kWidth / kThreads; ++n) {
      const int e = n * kThreads + static_cast<int>(threadIdx.x);
      const int row = e / kWidth, column = e % kWidth;
      const Index number = rows.numbers[row];
      const bool inside = number >= 0 && first + column < rows.width;
      to[row][column] = inside ? to_float(elements[number * rows.width + first + column]) : 0;
    }
  });
}

/// The indices in the tile of the thread's two queries and four keys.
__device__ inline int query_of(int i) { return static_cast<int>(threadIdx.x) / 16 * 2 + i; }
__device__ inline int key_of(int j) { return static_cast<int>(threadIdx.x) % 16 + 16 * j; }

__device__ inline float dot(const float4& a, const float4& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/// dots[i][j] = the dot product of query query_of(i) and key key_of(j). Begins with
/// __syncthreads().
template <int kThreads>
__device__ void multiply_rows(const Rows& queries, const Rows& keys, Factors<kThreads>& factors,
                              float (&dots)[2][4]) {
  const auto four = [](const float* from) { return *reinterpret_cast<const float4*>(from); };
#pragma unroll
  for (int i = 0; i < 8; ++i) dots[i / 4][i % 4] = 0;
  for (Index first = 0; first < queries.width; first += kDepth) {
    __syncthreads();
    load_rows<kThreads>(queries, first, factors.scored.queries);
    load_rows<kThreads>(keys, first, factors.scored.keys);
    __syncthreads();
#pragma unroll 4
    for (int d = 0; d < kDepth; d += 4) {
      const float4 q[2] = {four(&factors.scored.queries[query_of(0)][d]),
                           four(&factors.scored.queries[query_of(1)][d])};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float4 k = four(&factors.scored.keys[key_of(j)][d]);
        dots[0][j] += dot(q[0], k);
        dots[1][j] += dot(q[1], k);
      }
    }
  }
}

/// Adds to sums[i][x], over kDeep rows n, weights[n][kOwn * warp + i] * rows[n][first_column +
/// 4 * lane + x]. Begins with __syncthreads(), so that weights may have been written just before.
template <int kThreads, int kOwn, int kDeep, int kPitch>
__device__ void add_weighted_rows(const float (&weights)[kDeep][kPitch], Rows rows,
                                  Index first_column, Factors<kThreads>& factors,
                                  float (&sums)[kOwn][4]) {
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * kOwn;
  for (int first = 0; first < kDeep; first += kDepth, rows.numbers += kDepth) {
    __syncthreads();
    load_rows<kThreads>(rows, first_column, factors.summed);
    __syncthreads();
#pragma unroll 4
    for (int n = 0; n < kDepth; ++n) {
      const float4 x = *reinterpret_cast<const float4*>(&factors.summed[n][4 * lane]);
#pragma unroll
      for (int i = 0; i < kOwn; i += 4) {
        const float4 w = *reinterpret_cast<const float4*>(&weights[first + n][own + i]);
        const float four[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          sums[i + k][0] += four[k] * x.x, sums[i + k][1] += four[k] * x.y;
          sums[i + k][2] += four[k] * x.z, sums[i + k][3] += four[k] * x.w;
        }
      }
    }
  }
}

}  // namespace maskctl::attention::cuda
