// Arguments of the copy engine, and the ring of slots in shared memory that it fills.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace maskctl::attention::cuda::hopper {

/// Policies of the L2 cache for data that the copy engine reads.
inline constexpr std::uint64_t kEvictNormally = 0x1000000000000000,
                               kEvictFirst = 0x12F0000000000000, kEvictLast = 0x14F0000000000000;

/// The position of a tile's first element in an array [B,T,H,D].
struct Corner {
  int column, token, head, batch;
};

/// Which slot of a ring of kSlots a thread uses next, and the parity of that slot's barrier phase.
template <int kSlots>
struct Turn {
  int slot = 0, parity = 0;
  __device__ void next() {
    if (++slot == kSlots) slot = 0, parity ^= 1;
  }
};

}  // namespace maskctl::attention::cuda::hopper
