// Forward attention on the tensor cores of Hopper GPUs.
//
// A block stays on its multiprocessor and takes one tile of queries of one head after the other,
// the longest first. In its first warpgroup, one warp (the scout) finds the tiles of keys that the
// mask opens, and one (the producer) has the copy engine load them. Each further warpgroup computes
// 64 of the queries.
#pragma once

#include "maskctl/attention/cuda/hopper/kernel.cuh"
#include "maskctl/attention/cuda/softmax/hopper/forward_consumer.cuh"
#include "maskctl/attention/cuda/softmax/hopper/forward_producer.cuh"

namespace maskctl::attention::cuda::hopper {

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    forward_kernel(const __grid_constant__ ForwardCall call) {
  using Memory = ForwardMemory<Shape>;
  Memory& memory = block_memory<Memory>();
  if (threadIdx.x == 0) memory.init();
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<Shape::kFew>();
    if (threadIdx.x < 32) {
      Producer<Shape>(call, memory).run();
    } else if (threadIdx.x < 64) {
      Scout<Shape>(call, memory).run();
    }
  } else {
    take_registers<Shape::kMany>();
    Consumer<Shape>(call, memory).run();
  }
}

}  // namespace maskctl::attention::cuda::hopper
