// Rounds fragments of sums to 16 bits and stores them to shared memory.
#pragma once

#include "maskctl/attention/cuda/hopper/wgmma.cuh"

namespace maskctl::attention::cuda::hopper {

/// Hides where `address` comes from, so that the compiler computes addresses derived from it only
/// where they are used, and does not hold them in registers before.
__device__ inline std::uint32_t made_here(std::uint32_t address) {
  asm volatile("" : "+r"(address));
  return address;
}

/// threadIdx.x through made_here(), so that values derived from it hold no registers early.
__device__ inline int thread_here() { return static_cast<int>(made_here(threadIdx.x)); }

/// Stores a warpgroup's rounded fragment to panels that are `panel_bytes` apart. Its first element
/// goes to (row, column), both multiples of 8.
template <int n>
__device__ __forceinline__ void store_fragment(unsigned char* panels, int panel_bytes, int row,
                                               int column, const std::uint32_t (&pairs)[n]) {
  const int thread = static_cast<int>(threadIdx.x) % 128, lane = thread % 32, matrix = lane / 8;
  row += thread / 32 * 16 + matrix % 2 * 8 + lane % 8;
  // Panels are aligned, so the address of other columns differs from `begin` in single bits only,
  // which the loop flips with ^.
  const std::uint32_t begin =
      made_here(shared_address(panels) + swizzled(row, column + matrix / 2 * 8));
#pragma unroll
  for (int i = 0; i < n / 4; ++i) {
    store_matrices((begin ^ i % 4 * 32) + i / 4 * panel_bytes, pairs + 4 * i);
  }
}

/// Rounds a fragment to pairs of 16-bit elements, as products with a left factor in registers and
/// store_fragment() take them.
template <class T, int n>
__device__ __forceinline__ void round_fragment(const float (&d)[n], std::uint32_t (&pairs)[n / 2]) {
#pragma unroll
  for (int i = 0; i < n / 2; ++i) pairs[i] = rounded_pair<T>(d[2 * i], d[2 * i + 1]);
}

}  // namespace maskctl::attention::cuda::hopper
