// Clusters on Hopper GPUs: their blocks run at the same time, and the copy engine can load the same
// data to the shared memory of all of them with one copy.
#pragma once

#include "maskctl/attention/cuda/hopper/async.cuh"

namespace maskctl::attention::cuda::hopper {

/// The number of blocks in a cluster, for kernels declared with __cluster_dims__(kClusterBlocks).
inline constexpr int kClusterBlocks = 2;

/// The index of this block in its cluster, from 0.
__device__ inline int block_of_cluster() {
  int n;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(n));
  return n;
}
/// Waits for all threads of the cluster: after it, barriers that they initialised can be used, and
/// they no longer access this block's shared memory.
__device__ inline void meet_cluster() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
/// Like load_box(), but loads to the same address in the shared memory of each block of the
/// cluster, and signals the barrier at `done` in each.
__device__ inline void load_box_everywhere(void* to, const CUtensorMap& map, Corner at,
                                           Barrier& done, std::uint64_t policy) {
  constexpr int kAllBlocks = (1 << kClusterBlocks) - 1;
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3, %4, %5}], [%6], %7, %8;" ::"r"(
          shared_address(to)),
      "l"(&map), "r"(at.column), "r"(at.token), "r"(at.head), "r"(at.batch), "r"(done.address()),
      "h"(static_cast<std::uint16_t>(kAllBlocks)), "l"(policy)
      : "memory");
}
/// Arrives at the barrier of block `block` of the cluster at the same address as `barrier`. It does
/// not make this thread's stores to global memory visible: no fence of the whole GPU is made.
__device__ inline void arrive_at(Barrier& barrier, int block) {
  asm volatile(
      "{.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(barrier.address()),
      "r"(block)
      : "memory");
}

}  // namespace maskctl::attention::cuda::hopper
