// How the plain softmax kernels compute one tile. 256 threads hold 64 x 64 scores, 4 x 4 each, and
// multiply in f32 the operands that pass through shared memory.
//
// Thread (ty, tx) of 16 x 16 has rows 4 ty .. 4 ty + 3 and columns 4 tx .. 4 tx + 3. Rows are
// queries and columns are keys, or the other way round in kernels whose blocks own keys.
#pragma once

#include "maskctl/attention/cuda/softmax/logits.cuh"
#include "maskctl/attention/cuda/tiles/tiles.cuh"

namespace maskctl::attention::cuda {

inline constexpr int kThreads = 256;
inline constexpr int kDepth = 32;         // elements of a row that are in shared memory at a time
inline constexpr int kPitch = kTile + 4;  // floats per row: keeps rows aligned for 16-byte reads
inline constexpr int kMost = 128;         // the most columns that one block sums

using Scores = float[4][4];

struct alignas(16) TileMemory {
  /// Slices of two operands, [depth][row], or of one operand, [row][column].
  union {
    struct {
      float a[kDepth][kPitch], b[kDepth][kPitch];
    };
    float rows[kDepth][kMost];
  };
  float weights[kTile][kPitch];            // [column][row]
  unsigned long long used[kThreads / 32];  // for each warp: the columns that some row of it opens
};

/// Up to 64 rows of an array, of which `count` exist.
struct Rows {
  const void* data;
  DType dtype;
  Index first;   // index of element 0 of the first row
  Index stride;  // elements from one row to the next
  int count;
};

__device__ inline Rows rows_of(const HeadsView& array, Index b, Index token, Index head,
                               Index end) {
  return {array.data, array.dtype,
          b * array.batch_stride + token * array.token_stride + head * array.head_stride,
          array.token_stride, static_cast<int>(std::min<Index>(kTile, end - token))};
}

__device__ inline int row_of_thread() { return static_cast<int>(threadIdx.x) / 16 * 4; }
__device__ inline int column_of_thread() { return static_cast<int>(threadIdx.x) % 16 * 4; }

/// to[d][r] = element `depth + d` of row r; 0 outside the array.
template <class T>
__device__ void load_depths(const Rows& from, Index depth, Index all, float (*to)[kPitch]) {
  const int d = static_cast<int>(threadIdx.x) % kDepth;
  const T* const data = static_cast<const T*>(from.data) + from.first + depth + d;
  for (int r = static_cast<int>(threadIdx.x) / kDepth; r < kTile; r += kThreads / kDepth) {
    to[d][r] = r < from.count && depth + d < all ? to_float(data[r * from.stride]) : 0;
  }
}

/// to[r - first][c] = element `column + c` of row r, for kDepth rows r from `first` on. It is 0
/// outside the array, and in rows that are not `used`: 0 times their content could be NaN.
template <class T>
__device__ void load_rows(const Rows& from, std::uint64_t used, int first, Index column, Index all,
                          int columns, float (*to)[kMost]) {
  const int c = static_cast<int>(threadIdx.x) % columns;
  const T* const data = static_cast<const T*>(from.data) + from.first + column + c;
  for (int r = static_cast<int>(threadIdx.x) / columns; r < kDepth; r += kThreads / columns) {
    const int row = first + r;
    const bool exists = row < from.count && column + c < all && (used >> row & 1) != 0;
    to[r][c] = exists ? to_float(data[row * from.stride]) : 0;
  }
}

/// s[i][j] = the dot product of row i of a and row j of b, over `depth` elements. Ends with a
/// barrier.
__device__ inline void multiply(const Rows& a, const Rows& b, Index depth, TileMemory& memory,
                                Scores& s) {
  for (auto& row : s) {
    for (float& x : row) x = 0;
  }
  for (Index d = 0; d < depth; d += kDepth) {
    with_type(a.dtype, [&]<class T>(const T*) { load_depths<T>(a, d, depth, memory.a); });
    with_type(b.dtype, [&]<class T>(const T*) { load_depths<T>(b, d, depth, memory.b); });
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const float4 x = *reinterpret_cast<const float4*>(&memory.a[k][row_of_thread()]);
      const float4 y = *reinterpret_cast<const float4*>(&memory.b[k][column_of_thread()]);
      const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) s[i][j] = fmaf(xs[i], ys[j], s[i][j]);
      }
    }
    __syncthreads();
  }
}

/// The sums of a block, 64 rows x kColumns columns. Thread (ty, tx) has columns 64 c + 4 tx + e,
/// for e = 0 .. 3.
template <int kColumns>
struct Sums {
  float x[4][kColumns / 16] = {};
  /// Calls f(row, column, sum) for each sum of the thread.
  template <class F>
  __device__ void each(F&& f) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int n = 0; n < kColumns / 16; ++n) {
        f(row_of_thread() + i, n / 4 * 64 + column_of_thread() + n % 4, x[i][n]);
      }
    }
  }
};

/// Stores the thread's weights, and which columns its rows open, in shared memory for accumulate().
/// A barrier must follow.
__device__ inline void put_weights(const Scores& weights, std::uint64_t opened,
                                   TileMemory& memory) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    *reinterpret_cast<float4*>(&memory.weights[column_of_thread() + j][row_of_thread()]) =
        make_float4(weights[0][j], weights[1][j], weights[2][j], weights[3][j]);
  }
  // The lanes of each half warp share four rows; `both` has the columns that a row of either half
  // opens.
  const unsigned long long both = opened | __shfl_xor_sync(~0u, opened, 16);
  if (threadIdx.x % 32 == 0) memory.used[threadIdx.x / 32] = both;
}

/// sums[i][c] += sum over j of w[i][j] * (element `column + c` of row j), where w are the weights
/// that put_weights() stored. Begins and ends with a barrier.
template <int kColumns>
__device__ void accumulate(const Rows& rows, Index column, Index all, TileMemory& memory,
                           Sums<kColumns>& sums) {
  __syncthreads();
  std::uint64_t used = 0;
  for (const unsigned long long bits : memory.used) used |= bits;
  for (int first = 0; first < rows.count; first += kDepth) {
    with_type(rows.dtype, [&]<class T>(const T*) {
      load_rows<T>(rows, used, first, column, all, kColumns, memory.rows);
    });
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < kDepth; ++k) {
      const float4 w =
          *reinterpret_cast<const float4*>(&memory.weights[first + k][row_of_thread()]);
      const float ws[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int c = 0; c < kColumns / 64; ++c) {
        const float4 v =
            *reinterpret_cast<const float4*>(&memory.rows[k][c * 64 + column_of_thread()]);
        const float vs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            sums.x[i][c * 4 + e] = fmaf(ws[i], vs[e], sums.x[i][c * 4 + e]);
          }
        }
      }
    }
    __syncthreads();
  }
}

/// The sum, and the maximum, over the 16 threads that have the same rows.
__device__ inline float sum_of_row(float x) { return sum_of_lanes<16>(x); }
__device__ inline float max_of_row(float x) { return max_of_lanes<16>(x); }

/// The part of a call that one block computes.
struct BlockPart {
  Index b, h;          // h: a query head, or a key head where blocks own keys
  Index tile;          // number of the tile of queries or keys
  Index first_column;  // first column of the block's sums
};

/// Blocks are numbered by head, then by tile. The last tile comes first, because it is the longest
/// under a causal mask. blockIdx.y is the slice of columns.
__device__ inline BlockPart block_part(Index heads, Index batch, Index tiles, int columns) {
  const Index all = heads * batch, n = blockIdx.x;
  return {n % all / heads, n % heads, tiles - 1 - n / all, Index{blockIdx.y} * columns};
}

}  // namespace maskctl::attention::cuda
