// Copies of 16 bytes to shared memory that the thread does not wait for, on any GPU from sm_80 on.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "maskctl/attention/cuda/hopper/wgmma.cuh"

namespace maskctl::attention::cuda {

/// Begins to copy a unit of 16 bytes to an address of shared memory; if `exists` is false, writes
/// zeros and reads nothing. The unit is there once the thread has waited for the commit that
/// follows.
__device__ inline void copy_unit(std::uint32_t to, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(exists ? 16 : 0)
               : "memory");
}
__device__ inline void commit_copies() { __pipeline_commit(); }
/// Waits for all but the latest `kLater` commits of this thread.
template <int kLater>
__device__ void await_copies() {
  __pipeline_wait_prior(kLater);
}

}  // namespace maskctl::attention::cuda
