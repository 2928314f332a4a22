// Gradients of softmax attention on Hopper GPUs: a block owns a tile of keys, and walks the tiles
// of queries that the mask opens for it.
//
// For every tile of queries two warpgroups make the transposed weights and the gradients of the
// scores, and from these their shares of d_value, d_key and d_query. Up to 128 columns each of them
// has 64 keys, and its weights stay in registers; only the gradients of the scores go through
// shared memory, for d_query. Rows of 256 columns leave room for sums of 64 keys: there each has
// half of the queries of the scores and half of the columns of the sums, and the weights go through
// shared memory too. d_query is made in pieces of 64 x 64, which other warps add to f32 memory; one
// thread brings queries and d_out ahead of time.
#pragma once

#include "maskctl/attention/cuda/hopper/backward_adder.cuh"
#include "maskctl/attention/cuda/hopper/backward_consumer.cuh"
#include "maskctl/attention/cuda/hopper/backward_producer.cuh"
#include "maskctl/attention/cuda/launch.cuh"

namespace maskctl::attention::cuda::hopper {

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    backward_kernel(const __grid_constant__ BackwardCall call) {
  using Memory = BackwardMemory<Shape>;
  const std::uint32_t begin = shared_address(dynamic_shared());
  Memory& memory = *reinterpret_cast<Memory*>(
      dynamic_shared() + ((begin + kAtomBytes - 1) / kAtomBytes * kAtomBytes - begin));
  if (threadIdx.x == 0) memory.init();
  const KeyTile tile = key_tile<Shape>(call);
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

template <class F>
void with_16_bits(DType dtype, F&& f) {
  if (dtype == DType::kFloat16) return f(std::type_identity<__half>());
  f(std::type_identity<__nv_bfloat16>());
}

template <class Shape>
void launch_shape(const BackwardCall& call, Stream stream) {
  const Dims& d = call.b.p.d;
  launch("softmax_backward: d_query, d_key, d_value", backward_kernel<Shape>,
         static_cast<unsigned>(d.batch * d.kv_heads * ceil_div(d.keys, Shape::kKeys)),
         Shape::kThreads, sizeof(BackwardMemory<Shape>) + kAtomBytes, stream, call);
}
template <int kWidth>
void launch_kernel(const BackwardCall& call, Stream stream) {
  const SoftmaxParams& p = call.b.p;
  const bool is_general = p.bias.data || p.soft_cap != 0 || p.dropout != 0;
  with_16_bits(p.query.dtype, [&]<class T>(std::type_identity<T>) {
    (is_general ? launch_shape<BackwardShape<T, kWidth, true>>
                : launch_shape<BackwardShape<T, kWidth, false>>)(call, stream);
  });
}

// launch_kernel of one width each, compiled apart.
void launch_64(const BackwardCall& call, Stream stream);
void launch_128(const BackwardCall& call, Stream stream);
void launch_256(const BackwardCall& call, Stream stream);

}  // namespace maskctl::attention::cuda::hopper
