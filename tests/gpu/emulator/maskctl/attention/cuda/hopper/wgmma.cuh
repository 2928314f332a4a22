// Products on tensor cores for emulated kernels; replaces the header of this name. Each thread
// computes the elements of its own fragment, and reads the operands as soon as the product is asked
// for.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "maskctl/attention/cuda/hopper/layout.h"

namespace maskctl::attention::cuda::hopper {

/// Returns the offset of p in the shared memory of the block, in bytes.
inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(static_cast<const unsigned char*>(p) -
                                    cuda_emulator::dynamic_shared);
}

inline void wgmma_fence() {}
inline void wgmma_commit() {}
template <int kPending>
void wgmma_wait() {
  __syncwarp();
}
template <class T, int n>
void pin(T (&)[n]) {}

template <class T>
T rounded(float x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else {
    return __float2bfloat16_rn(x);
  }
}
inline float widened(__half x) { return __half2float(x); }
inline float widened(__nv_bfloat16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

template <class T>
std::uint32_t rounded_pair(float low, float high) {
  return rounded<T>(low).bits | static_cast<std::uint32_t>(rounded<T>(high).bits) << 16;
}
template <class T>
float of_pair(std::uint32_t pair, int n) {
  return widened(T{static_cast<std::uint16_t>(pair >> 16 * n)});
}

inline void store_matrices(std::uint32_t address, const std::uint32_t* x) {
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    // Lane l holds columns 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 of each matrix.
    const unsigned row = cuda_emulator::lane() / 4;
    const std::uint32_t to = __shfl_sync(~0u, address, matrix * 8 + row);
    std::memcpy(cuda_emulator::dynamic_shared + to + cuda_emulator::lane() % 4 * 4, x + matrix, 4);
  }
  __syncwarp();
}

/// Reads 16 elements of a row of an operand from shared memory; the descriptor (layout.h) says
/// where the operand is. `transposed`: panels have a row for each step of the depth.
template <class T>
void read_row(std::uint64_t descriptor, bool transposed, int row, float (&x)[16]) {
  const auto field = [&](int bit) { return static_cast<int>(descriptor >> bit & 0x3fff) << 4; };
  const auto element = [&](int line, int column) {
    const int at = field(0) + line / 8 * field(32) + line % 8 * kPanelRowBytes;
    const int in_line = at + column % kPanel * 2 + column / kPanel * field(16);
    return cuda_emulator::dynamic_shared + (in_line ^ (in_line >> 7 & 7) << 4);
  };
  T elements[16];
  if (transposed) {
    for (int k = 0; k < 16; ++k) std::memcpy(elements + k, element(k, row), 2);
  } else {
    for (int k = 0; k < 16; k += 8) std::memcpy(elements + k, element(row, k), 16);
  }
  for (int k = 0; k < 16; ++k) x[k] = widened(elements[k]);
}
inline float dot(const float (&a)[16], const float (&b)[16]) {
  float sums[4] = {};
  for (int k = 0; k < 16; k += 4) {
    for (int i = 0; i < 4; ++i) sums[i] += a[k + i] * b[k + i];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// d = a b, or d += a b if `accumulate`; `a` has the two rows of the first operand to which the
/// thread's fragment belongs.
template <class T, int N>
void multiply_rows(float (&d)[N / 2], const float (&a)[2][16], std::uint64_t b, bool transposed,
                   int accumulate) {
  const int thread = static_cast<int>(threadIdx.x) % 128;
  for (int i = 0; i < N / 2; ++i) {
    if (i % 4 > 1) continue;  // d[i] was computed together with d[i - 2]
    float column[16];
    read_row<T>(b, transposed, fragment_column(thread, i), column);
    d[i] = (accumulate ? d[i] : 0) + dot(a[0], column);
    d[i + 2] = (accumulate ? d[i + 2] : 0) + dot(a[1], column);
  }
}
template <class T, int N, int kTransposedA, int kTransposedB>
void wgmma(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, int accumulate) {
  const int thread = static_cast<int>(threadIdx.x) % 128;
  float rows[2][16];
  for (int side = 0; side < 2; ++side) {
    read_row<T>(a, kTransposedA != 0, fragment_row(thread, 2 * side), rows[side]);
  }
  multiply_rows<T, N>(d, rows, b, kTransposedB != 0, accumulate);
}
/// Returns the registers of another lane, which are valid until the warp goes on.
inline const std::uint32_t* of_lane(const std::uint32_t* registers, unsigned lane) {
  return reinterpret_cast<const std::uint32_t*>(
      __shfl_sync(~0u, reinterpret_cast<std::uintptr_t>(registers), lane));
}
/// A product with operand a in registers: register r of a lane holds, of row r % 2 of the lane's
/// two rows, columns 8 (r / 2) + 2 (lane % 4) and the next.
template <class T, int N, int kTransposedB>
void wgmma(float (&d)[N / 2], const std::uint32_t* a, std::uint64_t b, int accumulate) {
  const std::uint32_t* lanes[4];
  for (unsigned n = 0; n < 4; ++n) lanes[n] = of_lane(a, cuda_emulator::lane() / 4 * 4 + n);
  float rows[2][16];
  for (int n = 0; n < 4; ++n) {
    for (int r = 0; r < 4; ++r) {
      for (int i = 0; i < 2; ++i) {
        rows[r % 2][r / 2 * 8 + n * 2 + i] = of_pair<T>(lanes[n][r], i);
      }
    }
  }
  __syncwarp();
  multiply_rows<T, N>(d, rows, b, kTransposedB != 0, accumulate);
}

}  // namespace maskctl::attention::cuda::hopper
