// Tensor cores for emulated kernels, in place of the header of this name: a thread makes the
// elements of its own fragment. Operands are read when a product is begun.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "maskctl/attention/cuda/hopper/layout.h"

namespace maskctl::attention::cuda::hopper {

/// Bytes from the begin of the block's shared memory.
inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(static_cast<const unsigned char*>(p) -
                                    cuda_emulator::dynamic_shared);
}

inline void wgmma_fence() {}
inline void wgmma_commit() {}
template <int kPending>
void wgmma_wait() {}
template <int n>
void pin(float (&)[n]) {}

template <class T>
T rounded(float x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else {
    return __float2bfloat16_rn(x);
  }
}
inline float widened(__half x) { return __half2float(x); }
inline float widened(__nv_bfloat16 x) { return __bfloat162float(x); }

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
    // Lane l has columns 2 (l % 4) and the next of row l / 4.
    const unsigned row = cuda_emulator::lane() / 4;
    const std::uint32_t to = __shfl_sync(~0u, address, matrix * 8 + row);
    std::memcpy(cuda_emulator::dynamic_shared + to + cuda_emulator::lane() % 4 * 4, x + matrix, 4);
  }
  __syncwarp();
}

/// Element (row, depth) of an operand in shared memory, whose descriptor (layout.h) says where its
/// first one is. `transposed`: depth runs along the rows of panels.
template <class T>
float operand(std::uint64_t descriptor, bool transposed, int row, int depth) {
  const auto field = [&](int bit) {
    return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) << 4;
  };
  const int line = transposed ? depth : row, column = transposed ? row : depth;
  std::uint32_t at = field(0) + static_cast<std::uint32_t>(line / 8) * field(32) +
                     static_cast<std::uint32_t>(line % 8 * kPanelRowBytes + column % kPanel * 2) +
                     static_cast<std::uint32_t>(column / kPanel) * field(16);
  at ^= (at >> 7 & 7) << 4;
  T element;
  std::memcpy(&element, cuda_emulator::dynamic_shared + at, 2);
  return widened(element);
}

/// d += a b, where the thread has rows `a` of the first operand.
template <class T, int N>
void multiply_rows(float (&d)[N / 2], const float (&a)[2][16], std::uint64_t b, bool transposed,
                   int accumulate) {
  const int thread = static_cast<int>(threadIdx.x) % 128;
  for (int i = 0; i < N / 2; ++i) {
    if (i % 4 > 1) continue;  // columns of the first row are those of the second
    const int column = fragment_column(thread, i);
    float first = accumulate ? d[i] : 0, second = accumulate ? d[i + 2] : 0;
    for (int k = 0; k < 16; ++k) {
      const float x = operand<T>(b, transposed, column, k);
      first += a[0][k] * x, second += a[1][k] * x;
    }
    d[i] = first, d[i + 2] = second;
  }
}
template <class T, int N, int kTransposedA, int kTransposedB>
void wgmma(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, int accumulate) {
  const int thread = static_cast<int>(threadIdx.x) % 128;
  float rows[2][16];
  for (int side = 0; side < 2; ++side) {
    for (int k = 0; k < 16; ++k) {
      rows[side][k] = operand<T>(a, kTransposedA != 0, fragment_row(thread, 2 * side), k);
    }
  }
  multiply_rows<T, N>(d, rows, b, kTransposedB != 0, accumulate);
}
/// Register r of a lane has, of row r % 2 of the thread's, columns 8 (r / 2) + 2 (lane % 4) and the
/// next.
template <class T, int N, int kTransposedB>
void wgmma(float (&d)[N / 2], const std::uint32_t* a, std::uint64_t b, int accumulate) {
  float rows[2][16];
  for (unsigned lane = 0; lane < 4; ++lane) {
    for (int r = 0; r < 4; ++r) {
      const std::uint32_t pair = __shfl_sync(~0u, a[r], cuda_emulator::lane() / 4 * 4 + lane);
      for (int n = 0; n < 2; ++n) {
        rows[r % 2][r / 2 * 8 + static_cast<int>(lane) * 2 + n] = of_pair<T>(pair, n);
      }
    }
  }
  multiply_rows<T, N>(d, rows, b, kTransposedB != 0, accumulate);
}

}  // namespace maskctl::attention::cuda::hopper
