// Runs the kernel of weights.cuh.
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/attention/cuda/hopper/tensor_map.cuh"
#include "maskctl/attention/cuda/softmax/hopper/weights.cuh"
#include "maskctl/attention/cuda/softmax/hopper/weights.h"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr Index kMostDim = 256;

template <class Shape>
void run(const SoftmaxParams& p, float* lse, float* out, Stream stream) {
  const Dims& d = p.d;
  WeightsCall call;
  call.p = p;
  call.query = tensor_map(p.query, d.batch, d.queries, d.q_heads, d.dim, Shape::kRows);
  call.key = tensor_map(p.key, d.batch, d.keys, d.kv_heads, d.dim, Shape::kKeys);
  call.lse = lse, call.out = out;
  call.tile_rows = static_cast<int>(ceil_div(d.queries, Shape::kRows));
  call.is_by_four = d.keys % 4 == 0 && reinterpret_cast<std::uintptr_t>(out) % 16 == 0;
  launch(Shape::kWrites ? "weights on tensor cores" : "lse on tensor cores", weights_kernel<Shape>,
         static_cast<unsigned>(d.batch * d.q_heads * call.tile_rows), Shape::kThreads,
         block_bytes<WeightsMemory<Shape>, Shape::kBlocks>(), stream, call);
}

template <bool kWrites>
void run(const SoftmaxParams& p, float* lse, float* out, Stream stream) {
  with_16_bits(p.query.dtype, [&]<class T>(std::type_identity<T>) {
    if (p.d.dim > 128) return run<WeightsShape<T, 256, kWrites>>(p, lse, out, stream);
    if (p.d.dim > 64) return run<WeightsShape<T, 128, kWrites>>(p, lse, out, stream);
    run<WeightsShape<T, 64, kWrites>>(p, lse, out, stream);
  });
}

}  // namespace

std::string unsupported_weights(const SoftmaxParams& p) {
  if (std::string reason = unavailable(); !reason.empty()) return reason;
  if (p.query.dtype != p.key.dtype) return "dtypes differ";
  if (p.bias.data || p.soft_cap != 0) return "a bias or a soft cap";
  if (!(p.scale > 0)) return "the scale is not positive";
  if (p.d.dim > kMostDim) return "256 is the largest head dimension";
  if (p.d.keys == 0 || p.d.dim == 0) return "an axis has no extent";
  for (const HeadsView* const array : {&p.query, &p.key}) {
    if (std::string reason = unreadable(*array); !reason.empty()) return reason;
  }
  return "";
}

void row_lse(const SoftmaxParams& p, float* lse, Stream stream) {
  run<false>(p, lse, nullptr, stream);
}
void weights(const SoftmaxParams& p, const float* lse, float* out, Stream stream) {
  run<true>(p, const_cast<float*>(lse), out, stream);
}

}  // namespace maskctl::attention::cuda::hopper
