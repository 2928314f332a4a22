// How kernels for Hopper GPUs are started: which variant a call takes, and its shared memory.
#pragma once

#include "maskctl/attention/cuda/hopper/async.cuh"
#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/tensor/dtype.h"

namespace maskctl::attention::cuda::hopper {

/// Calls f(std::type_identity<T>()), where T is the element type of float16 or bfloat16.
template <class F>
void with_16_bits(DType dtype, F&& f) {
  if (dtype == DType::kFloat16) return f(std::type_identity<__half>());
  f(std::type_identity<__nv_bfloat16>());
}

/// Does what launch() does, for a kernel that may start before the previous kernel of the stream
/// has ended, if the previous kernel allows it. The new kernel must call await_previous_kernel()
/// before it reads what the previous one writes.
template <class... Parameters>
void launch_early(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 threads,
                  std::size_t shared_bytes, Stream stream,
                  const std::type_identity_t<Parameters>&... p) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  launch_as(&early, name, kernel, grid, threads, shared_bytes, stream, p...);
}

/// The dynamic shared memory of a block as a Memory, aligned as swizzled panels require.
template <class Memory>
__device__ Memory& block_memory() {
  const std::uint32_t begin = shared_address(dynamic_shared());
  const std::uint32_t aligned = (begin + kAtomBytes - 1) / kAtomBytes * kAtomBytes;
  return *reinterpret_cast<Memory*>(dynamic_shared() + (aligned - begin));
}
/// The bytes of dynamic shared memory for a Memory and its alignment. Checks that `blocks` such
/// blocks fit on one multiprocessor.
template <class Memory, int blocks = 1>
constexpr std::size_t block_bytes() {
  constexpr std::size_t kBytes = sizeof(Memory) + kAtomBytes;
  // The shared memory of a multiprocessor, and what the system takes of it for each block.
  constexpr std::size_t kOfMultiprocessor = 228 << 10, kOfSystem = 1 << 10;
  static_assert(blocks * (kBytes + kOfSystem) <= kOfMultiprocessor);
  return kBytes;
}

}  // namespace maskctl::attention::cuda::hopper
