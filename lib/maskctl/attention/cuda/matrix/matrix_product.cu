// Products of matrices. A block computes a square of the result, a thread 4 x 4 elements of it.
// Both factors pass through shared memory, kDepth terms of the sums at a time.
#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/matrix/matrix_product.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kSide = 64, kDepth = 16, kThreads = 256;
/// Floats per row in shared memory; 16 bytes of padding avoid bank conflicts.
constexpr int kRoom = kSide + 4;

/// Element (r, c) is data[r * row_stride + c * column_stride].
struct Matrix {
  const float* data;
  Index rows, columns, row_stride, column_stride;
};

Matrix matrix_of(const MatrixView& m) {
  if (m.transposed) return {m.data, m.rows, m.columns, 1, m.stride};
  return {m.data, m.rows, m.columns, m.stride, 1};
}
Matrix transposed(const Matrix& m) {
  return {m.data, m.columns, m.rows, m.column_stride, m.row_stride};
}

/// part[k][side] = element (first + side, depth + k) of m, 0 outside of m. Neighbouring threads
/// read neighbouring elements.
__device__ void stage(const Matrix& m, Index first, Index depth, float (*part)[kRoom]) {
  const bool along_depth = m.column_stride == 1;
  for (int i = static_cast<int>(threadIdx.x); i < kSide * kDepth; i += kThreads) {
    const int k = along_depth ? i % kDepth : i / kSide, side = along_depth ? i / kDepth : i % kSide;
    const Index row = first + side, column = depth + k;
    part[k][side] = row < m.rows && column < m.columns
                        ? m.data[row * m.row_stride + column * m.column_stride]
                        : 0.0f;
  }
}

__device__ void add_products(const float (*a)[kRoom], const float (*b)[kRoom], int row, int column,
                             float (&sums)[4][4]) {
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    const float4 x = *reinterpret_cast<const float4*>(&a[k][row]);
    const float4 y = *reinterpret_cast<const float4*>(&b[k][column]);
    const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[i][j] += xs[i] * ys[j];
    }
  }
}

/// Computes out = a b, or adds a b to `out`. `b` is given transposed: its shape is [columns of out,
/// depth].
__global__ void __launch_bounds__(kThreads)
    multiply(const Matrix a, const Matrix b, const bool accumulate, float* out) {
  alignas(16) __shared__ float a_part[kDepth][kRoom], b_part[kDepth][kRoom];
  const Index squares = ceil_div(b.rows, kSide);  // squares side by side in the result
  const Index first_row = blockIdx.x / squares * kSide, first_column = blockIdx.x % squares * kSide;
  const int row = static_cast<int>(threadIdx.x) / 16 * 4;
  const int column = static_cast<int>(threadIdx.x) % 16 * 4;
  float sums[4][4] = {};
  for (Index depth = 0; depth < a.columns; depth += kDepth) {
    stage(a, first_row, depth, a_part);
    stage(b, first_column, depth, b_part);
    __syncthreads();
    add_products(a_part, b_part, row, column, sums);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const Index r = first_row + row + i, c = first_column + column + j;
      if (r >= a.rows || c >= b.rows) continue;
      float& to = out[r * b.rows + c];
      to = (accumulate ? to : 0) + sums[i][j];
    }
  }
}

}  // namespace

void matrix_product(Workspace& workspace, const MatrixProblem& problem,
                    const MutableTensorView& out) {
  const Matrix a = matrix_of(problem.a), b = transposed(matrix_of(problem.b));
  const dim3 grid(static_cast<unsigned>(ceil_div(a.rows, kSide) * ceil_div(b.rows, kSide)));
  launch("matrix_product", multiply, grid, kThreads, 0, workspace.stream(), a, b,
         problem.accumulate, reinterpret_cast<float*>(out.data()));
}

}  // namespace maskctl::attention::cuda
