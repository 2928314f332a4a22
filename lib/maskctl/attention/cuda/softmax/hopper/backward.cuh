// Gradients of softmax attention on Hopper GPUs: a block owns a tile of keys, and loops over the
// tiles of queries that the mask opens for it.
//
// For every tile of queries, two warpgroups compute the transposed weights and the gradients of the
// scores, and from these what the tile adds to d_value, d_key and d_query. For head dimensions up
// to 128, each warpgroup has 64 keys and keeps its weights in registers; only the gradients of the
// scores go through shared memory, for d_query. For head dimension 256, all warpgroups together
// have only 64 keys, because the sums for more would not fit into registers. Each warpgroup then
// computes the scores of half of the queries and the sums of half of the columns, and the weights
// go through shared memory too. d_query is computed in pieces of 64 x 64, which other warps add to
// f32 memory. One thread loads queries and d_out ahead of time.
#pragma once

#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/softmax/hopper/backward_adder.cuh"
#include "maskctl/attention/cuda/softmax/hopper/backward_consumer.cuh"
#include "maskctl/attention/cuda/softmax/hopper/backward_producer.cuh"

namespace maskctl::attention::cuda::hopper {

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    backward_kernel(const __grid_constant__ BackwardCall call) {
  using Memory = BackwardMemory<Shape>;
  Memory& memory = block_memory<Memory>();
  let_next_kernel_begin();
  if (threadIdx.x == 0) memory.init();
  const KeyTile tile = call.parts[blockIdx.x].tile;
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<Shape::kFew>();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (warp == 0) {
      if (threadIdx.x == 0) BackwardProducer<Shape>(call, memory, tile).run();
    } else if (warp <= Shape::kWarpgroups) {
      BackwardAdder<Shape>(call, memory, tile, warp - 1).run();
    }
  } else {
    take_registers<Shape::kMany>();
    BackwardConsumer<Shape>(call, memory, tile).run();
  }
}

template <class Shape>
void launch_shape(const BackwardCall& call, int blocks, Stream stream) {
  launch_early("softmax_backward: d_query, d_key, d_value", backward_kernel<Shape>,
               static_cast<unsigned>(blocks), Shape::kThreads,
               block_bytes<BackwardMemory<Shape>, Shape::kBlocks>(), stream, call);
}
template <int kWidth, bool kFine>
void launch_kernel(const BackwardCall& call, int blocks, Stream stream) {
  const SoftmaxParams& p = call.b.p;
  with_16_bits(p.query.dtype, [&]<class T>(std::type_identity<T>) {
    (is_positional(p) ? launch_shape<BackwardShape<T, kWidth, kFine, true>>
                      : launch_shape<BackwardShape<T, kWidth, kFine, false>>)(call, blocks, stream);
  });
}

// Instances of launch_kernel, each compiled in a file of its own.
using Launch = void(const BackwardCall& call, int blocks, Stream stream);
Launch launch_64, launch_128, launch_256, launch_fine_64, launch_fine_128;

}  // namespace maskctl::attention::cuda::hopper
