// Products of gathered rows: a block of threads makes a tile of kTileRows x kColumns sums and a
// thread 8 x 8 of them, kDepth products of each sum at a time.
#include "maskctl/attention/cuda/grouped/grouped_product.h"
#include "maskctl/attention/cuda/launch.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kColumns = 128, kDepth = 16, kThreads = 128;
constexpr int kThreadsAcross = kColumns / 8;
constexpr int kBlocksAtOnce = 4;  // on a multiprocessor: 128 registers a thread
// Rows of tiles are four floats longer than what they hold: writes that go down a column then fall
// into different banks, and groups of four floats stay aligned.
constexpr int kPadding = 4;

/// The factors of kDepth products of each sum.
struct alignas(16) Factors {
  float left[kDepth][kTileRows + kPadding];
  float right[kDepth][kColumns + kPadding];
};
using Sums = float[8][8];

/// to[d][i] = from[position(i, d)], 0 where the position is negative. `across`: neighbours in
/// memory differ in i, not in d.
template <int kPitch, class Position>
__device__ void load(const AnyArray& from, bool across, Position position,
                     float (&to)[kDepth][kPitch]) {
  constexpr int kWidth = kPitch - kPadding;
  with_type(from.dtype, [&]<class T>(const T*) {
    const T* const elements = static_cast<const T*>(from.data);
#pragma unroll 4  // more takes registers from the sums
    for (int n = 0; n < kDepth * kWidth / kThreads; ++n) {
      const int e = n * kThreads + static_cast<int>(threadIdx.x);
      const int d = across ? e / kWidth : e % kDepth, i = across ? e % kWidth : e / kDepth;
      const Index at = position(i, d);
      to[d][i] = at < 0 ? 0 : to_float(elements[at]);
    }
  });
}

/// The rows (or columns) of a tile that a thread sums are two groups of four, half a tile apart, so
/// that the threads of a warp read neighbouring groups.
template <int kWidth>
__device__ int nth(int thread, int n) {
  return n / 4 * (kWidth / 2) + thread * 4 + n % 4;
}
__device__ int tile_row(int n) { return nth<kTileRows>(threadIdx.x / kThreadsAcross, n); }
__device__ int tile_column(int n) { return nth<kColumns>(threadIdx.x % kThreadsAcross, n); }

__device__ void read_four(const float* from, float* to) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

__device__ void add_products(const Factors& factors, Sums& sums) {
#pragma unroll 4
  for (int d = 0; d < kDepth; ++d) {
    float left[8], right[8];
    read_four(&factors.left[d][tile_row(0)], left);
    read_four(&factors.left[d][tile_row(4)], left + 4);
    read_four(&factors.right[d][tile_column(0)], right);
    read_four(&factors.right[d][tile_column(4)], right + 4);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) sums[i][j] += left[i] * right[j];
    }
  }
}

/// Calls f(row of the tile, column of the tile, sum) for each sum of the thread.
template <class F>
__device__ void for_each_sum(const Sums& sums, F&& f) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) f(tile_row(i), tile_column(j), sums[i][j]);
  }
}

/// out[row] = left[row] @ matrices[matrix of the row] (+ added[row]).
struct RowProduct {
  AnyArray left;      // [rows,depth]
  AnyArray matrices;  // [G,depth,columns]; [G,columns,depth] when transposed
  bool transposed = false;
  Index depth = 0, columns = 0;
  AnyArray added;                // [rows,columns], or null
  bool adds_everywhere = false;  // false: `added` is added only to rows without a matrix
  AnyResult out;                 // [rows,columns]
};

/// A block takes a tile of rows and kColumns columns.
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    multiply_rows(RowProduct p, const RowTile* tiles, Index tile_count, const Index* rows) {
  __shared__ Factors factors;
  __shared__ Index tile_rows[kTileRows];  // -1 past the last
  const RowTile tile = tiles[blockIdx.x % tile_count];
  const Index first_column = blockIdx.x / tile_count * kColumns;
  if (threadIdx.x < kTileRows) {
    const Index position = tile.range.begin + threadIdx.x;
    tile_rows[threadIdx.x] = position < tile.range.end ? rows[position] : -1;
  }
  __syncthreads();

  Sums sums = {};
  const Index depth = tile.matrix < 0 ? 0 : p.depth, matrix = tile.matrix * depth * p.columns;
  for (Index first = 0; first < depth; first += kDepth) {
    load(
        p.left, false,
        [&](int i, int d) {
          return tile_rows[i] < 0 || first + d >= depth ? -1 : tile_rows[i] * depth + first + d;
        },
        factors.left);
    load(
        p.matrices, !p.transposed,
        [&](int i, int d) {
          const Index x = first + d, y = first_column + i;
          if (x >= depth || y >= p.columns) return Index{-1};
          return matrix + (p.transposed ? y * depth + x : x * p.columns + y);
        },
        factors.right);
    __syncthreads();
    add_products(factors, sums);
    __syncthreads();
  }

  const bool adds = p.added.data && (p.adds_everywhere || tile.matrix < 0);
  for_each_sum(sums, [&](int i, int j, float sum) {
    const Index row = tile_rows[i], column = first_column + j;
    if (row < 0 || column >= p.columns) return;
    const Index at = row * p.columns + column;
    put(p.out, at, adds ? sum + element(p.added, at) : sum);
  });
}

/// out[g] = the sum of left[row]^T right[row] over the rows of matrix g.
struct ColumnProduct {
  AnyArray left;   // [rows,height]
  AnyArray right;  // [rows,width]
  Index height = 0, width = 0;
  AnyResult out;  // [G,height,width]
};

/// A block takes kTileRows x kColumns elements of one matrix.
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    multiply_columns(ColumnProduct p, const Range* matrix_ranges, const Index* rows) {
  __shared__ Factors factors;
  const Index across = ceil_div(p.width, kColumns), down = ceil_div(p.height, kTileRows);
  const Index first_y = blockIdx.x % across * kColumns;
  const Index first_x = blockIdx.x / across % down * kTileRows;
  const Index matrix = blockIdx.x / across / down;
  const Range range = matrix_ranges[matrix];

  Sums sums = {};
  for (Index first = range.begin; first < range.end; first += kDepth) {
    const auto position = [&](int d, Index column, Index width) {
      const bool inside = first + d < range.end && column < width;
      return inside ? rows[first + d] * width + column : -1;
    };
    load(
        p.left, true, [&](int i, int d) { return position(d, first_x + i, p.height); },
        factors.left);
    load(
        p.right, true, [&](int i, int d) { return position(d, first_y + i, p.width); },
        factors.right);
    __syncthreads();
    add_products(factors, sums);
    __syncthreads();
  }

  for_each_sum(sums, [&](int i, int j, float sum) {
    const Index x = first_x + i, y = first_y + j;
    if (x < p.height && y < p.width) put(p.out, (matrix * p.height + x) * p.width + y, sum);
  });
}

void run(Workspace& workspace, const GroupedPlan& plan, const RowProduct& product) {
  const Index blocks = plan.tile_count() * ceil_div(product.columns, kColumns);
  launch("grouped product", multiply_rows, static_cast<unsigned>(blocks), kThreads, 0,
         workspace.stream(), product, plan.tiles(), plan.tile_count(), plan.rows());
}

void run(Workspace& workspace, const GroupedPlan& plan, Index matrices,
         const ColumnProduct& product) {
  const Index blocks =
      matrices * ceil_div(product.height, kTileRows) * ceil_div(product.width, kColumns);
  launch("grouped product of columns", multiply_columns, static_cast<unsigned>(blocks), kThreads, 0,
         workspace.stream(), product, plan.ranges(), plan.rows());
}

}  // namespace

void grouped_forward(Workspace& workspace, const GroupedProblem& p, const GroupedPlan& plan,
                     const MutableTensorView& out) {
  RowProduct product{any_array(p.lhs),
                     any_array(p.rhs),
                     p.transpose_rhs,
                     p.groups.inner,
                     p.groups.columns,
                     {},
                     false,
                     any_result(out)};
  if (p.existing_out) product.added = any_array(*p.existing_out);
  product.adds_everywhere = p.adds_everywhere;
  run(workspace, plan, product);
}

void grouped_backward(Workspace& workspace, const GroupedProblem& p, const GroupedPlan& plan,
                      const TensorView& d_out, const GroupedGradientOutputs& gradients) {
  const RowGroups& groups = p.groups;
  const AnyArray lhs = any_array(p.lhs), d = any_array(d_out);
  run(workspace, plan,
      RowProduct{d,
                 any_array(p.rhs),
                 !p.transpose_rhs,
                 groups.columns,
                 groups.inner,
                 {},
                 false,
                 any_result(gradients.lhs)});
  const AnyResult d_rhs = any_result(gradients.rhs);
  run(workspace, plan, groups.matrices(),
      p.transpose_rhs ? ColumnProduct{d, lhs, groups.columns, groups.inner, d_rhs}
                      : ColumnProduct{lhs, d, groups.inner, groups.columns, d_rhs});
}

}  // namespace maskctl::attention::cuda
