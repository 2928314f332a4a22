// Clusters of blocks for emulated kernels; replaces the header of this name. Blocks run one after
// the other, so each is a cluster by itself.
#pragma once

#include "maskctl/attention/cuda/hopper/async.cuh"

namespace maskctl::attention::cuda::hopper {

#define __cluster_dims__(...)

inline constexpr int kClusterBlocks = 1;

inline int block_of_cluster() { return 0; }
inline void meet_cluster() { __syncthreads(); }
inline void load_box_everywhere(void* to, const CUtensorMap& map, Corner at, Barrier& done,
                                std::uint64_t policy) {
  load_box(to, map, at, done, policy);
}
inline void arrive_at(Barrier& barrier, int) { barrier.arrive(); }

}  // namespace maskctl::attention::cuda::hopper
