// Grouped products without tensor cores: a block of threads computes kTileRows x kColumns elements
// and a thread 8 x 8 of them, in steps of kDepth along the inner dimension.
#include "maskctl/attention/cuda/grouped/grouped_product.h"
#include "maskctl/attention/cuda/grouped/hopper/tile_product.h"
#include "maskctl/attention/cuda/grouped/products.h"
#include "maskctl/attention/cuda/launch.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kColumns = 128, kDepth = 16, kThreads = 128;
constexpr int kThreadsAcross = kColumns / 8;
constexpr int kBlocksAtOnce = 4;  // blocks per multiprocessor: 128 registers a thread
// Floats after each row in shared memory: writes down a column then go to different banks, and rows
// stay aligned to float4.
constexpr int kPadding = 4;

/// A step's operands in shared memory: kDepth columns of the left and rows of the right factor.
struct alignas(16) Factors {
  float left[kDepth][kTileRows + kPadding];
  float right[kDepth][kColumns + kPadding];
};
using Sums = float[8][8];

/// to[d][i] = from[position(i, d)], 0 where the position is negative. `across`: i is the
/// contiguous axis in memory, else d is.
template <int kPitch, class Position>
__device__ void load(const AnyArray& from, bool across, Position position,
                     float (&to)[kDepth][kPitch]) {
  constexpr int kWidth = kPitch - kPadding;
  with_type(from.dtype, [&]<class T>(const T*) {
    const T* const elements = static_cast<const T*>(from.data);
#pragma unroll 4  // more would need too many registers
    for (int n = 0; n < kDepth * kWidth / kThreads; ++n) {
      const int e = n * kThreads + static_cast<int>(threadIdx.x);
      const int d = across ? e / kWidth : e % kDepth, i = across ? e % kWidth : e / kDepth;
      const Index at = position(i, d);
      to[d][i] = at < 0 ? 0 : to_float(elements[at]);
    }
  });
}

/// The index in the tile of a thread's n-th row or column, n < 8. A thread has four adjacent ones
/// in each half of the tile, so that neighbouring threads read neighbouring floats.
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

/// Computes a RowProduct: each block of threads takes a tile of rows and kColumns columns.
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    multiply_rows(RowProduct p, const RowTile* tiles, Index tile_count, const Index* rows) {
  __shared__ Factors factors;
  __shared__ Index tile_rows[kTileRows];  // row numbers of the tile's rows; -1 past its end
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

  const bool adds = p.adds(tile.matrix >= 0);
  for_each_sum(sums, [&](int i, int j, float sum) {
    const Index row = tile_rows[i], column = first_column + j;
    if (row < 0 || column >= p.columns) return;
    const Index at = row * p.columns + column;
    put(p.out, at, adds ? sum + element(p.added, at) : sum);
  });
}

/// Computes a ColumnProduct: each block of threads takes kTileRows x kColumns elements of a matrix.
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

/// Computes the rows of plan.tiles()[first] and of all later tiles.
void run(Workspace& workspace, const GroupedPlan& plan, Index first, const RowProduct& product) {
  const Index tiles = plan.tile_count() - first;
  launch("grouped product", multiply_rows,
         static_cast<unsigned>(tiles * ceil_div(product.columns, kColumns)), kThreads, 0,
         workspace.stream(), product, plan.tiles() + first, tiles, plan.rows());
}

void run(Workspace& workspace, const GroupedPlan& plan, const ColumnProduct& product) {
  const Index blocks =
      plan.matrices() * ceil_div(product.height, kTileRows) * ceil_div(product.width, kColumns);
  launch("grouped product of columns", multiply_columns, static_cast<unsigned>(blocks), kThreads, 0,
         workspace.stream(), product, plan.ranges(), plan.rows());
}

}  // namespace

void grouped_forward(Workspace& workspace, const GroupedProblem& p, const GroupedPlan& plan,
                     const MutableTensorView& out) {
  RowProduct product{any_array(p.lhs),  any_array(p.rhs), p.transpose_rhs,
                     p.groups.inner,    p.groups.columns, {},
                     p.adds_everywhere, any_result(out)};
  if (p.existing_out) product.added = any_array(*p.existing_out);
  Index first = 0;
  if (hopper::takes(plan, product)) {
    const Workspace::Scope scope(workspace);
    product.left = hopper::in_order(workspace, plan, product.left, product.depth);
    hopper::multiply(workspace, plan, product);
    first = plan.tiles_with_matrix();
  }
  run(workspace, plan, first, product);
}

void grouped_backward(Workspace& workspace, const GroupedProblem& p, const GroupedPlan& plan,
                      const TensorView& d_out, const GroupedGradientOutputs& gradients) {
  const RowGroups& groups = p.groups;
  AnyArray lhs = any_array(p.lhs), d = any_array(d_out);
  RowProduct rows{
      d,     any_array(p.rhs),         !p.transpose_rhs, groups.columns, groups.inner, {},
      false, any_result(gradients.lhs)};
  const auto columns = [&] {
    const AnyResult d_rhs = any_result(gradients.rhs);
    return p.transpose_rhs ? ColumnProduct{d, lhs, groups.columns, groups.inner, d_rhs}
                           : ColumnProduct{lhs, d, groups.inner, groups.columns, d_rhs};
  };
  if (!hopper::takes(plan, rows) || !hopper::takes(plan, columns())) {
    run(workspace, plan, 0, rows);
    return run(workspace, plan, columns());
  }
  const Workspace::Scope scope(workspace);
  lhs = hopper::in_order(workspace, plan, lhs, groups.inner);
  d = rows.left = hopper::in_order(workspace, plan, d, groups.columns);
  hopper::multiply(workspace, plan, rows);
  hopper::multiply(workspace, plan, columns());
  run(workspace, plan, plan.tiles_with_matrix(), rows);
}

}  // namespace maskctl::attention::cuda
