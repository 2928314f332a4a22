// Prefix sums over the threads of a block.
#pragma once

#include "maskctl/attention/cuda/launch.cuh"

namespace maskctl::attention::cuda {

/// The sum of x over the threads before this one (an exclusive prefix sum), in a block of kThreads
/// threads. `total` becomes the sum over all of them.
template <int kThreads>
__device__ Index sum_before(Index x, Index& total) {
  __shared__ Index of_warps[kThreads / 32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  Index sum = x;
  for (int distance = 1; distance < 32; distance *= 2) {
    const Index other = __shfl_up_sync(~0u, sum, distance);
    if (lane >= distance) sum += other;
  }
  __syncthreads();  // until all threads have read what an earlier call wrote
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();
  Index before = sum - x;
  total = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w < warp) before += of_warps[w];
    total += of_warps[w];
  }
  return before;
}

}  // namespace maskctl::attention::cuda
