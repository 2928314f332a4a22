// Asynchronous copies of 16 bytes for emulated kernels; replaces the header of this name. They are
// made when their thread waits for them.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "maskctl/attention/cuda/hopper/wgmma.cuh"

namespace maskctl::attention::cuda {

inline void copy_unit(std::uint32_t to, const void* from, bool exists) {
  alignas(16) static constexpr unsigned char kZeros[16] = {};
  __pipeline_memcpy_async(cuda_emulator::dynamic_shared + to, exists ? from : kZeros, 16);
}
inline void commit_copies() { __pipeline_commit(); }
template <int kLater>
void await_copies() {
  __pipeline_wait_prior(kLater);
}

}  // namespace maskctl::attention::cuda
