// Tensor cores of any GPU from sm_80 on: products of small matrices by one warp.
//
// d[16 x 8] += a[16 x 16] b[16 x 8], with d in f32. With r = lane / 4 and c = lane % 4, a lane
// holds these elements (row, column):
// - of d: (r, 2c), (r, 2c + 1), (r + 8, 2c) and (r + 8, 2c + 1);
// - of a: pairs of neighbours in a row, which begin at (r, 2c), (r + 8, 2c), (r, 2c + 8) and
//   (r + 8, 2c + 8);
// - of b: pairs of neighbours in a column, which begin at (2c, r) and (2c + 8, r).
#pragma once

#include "maskctl/attention/cuda/hopper/wgmma.cuh"

namespace maskctl::attention::cuda {

using hopper::rounded_pair, hopper::shared_address;

template <class T>
__device__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<T, __half>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

/// Loads four 8 x 8 matrices of 16-bit elements from shared memory, each into one register of every
/// lane. Lane l passes the address of row l % 8 of matrix l / 8. With r = l / 4 and c = l % 4, it
/// gets elements (r, 2c) and (r, 2c + 1) of each matrix; with kTransposed, elements (2c, r) and
/// (2c + 1, r).
template <bool kTransposed>
__device__ void load_matrices(std::uint32_t (&x)[4], std::uint32_t address) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
  }
}

/// Transposes an 8 x 8 matrix of 16-bit elements that a warp holds. With r = lane / 4 and c =
/// lane % 4, a lane passes elements (r, 2c) and (r, 2c + 1), and gets elements (2c, r) and
/// (2c + 1, r).
__device__ inline std::uint32_t transposed(std::uint32_t pair) {
  std::uint32_t other;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(other) : "r"(pair));
  return other;
}

}  // namespace maskctl::attention::cuda
