#include <algorithm>

#include "maskctl/attention/cuda/hopper/forward.cuh"
#include "maskctl/attention/cuda/hopper/forward.h"
#include "maskctl/attention/cuda/hopper/tensor_map.cuh"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr Index kCacheBytes = Index{32} << 20;  // share of the L2 cache for keys and values
constexpr Index kMostDim = 256;

Index most_dim(const Dims& d) { return std::max(d.dim, d.value_dim); }

struct Gpu {
  int major, minor;  // compute capability
  int multiprocessors;
};
Gpu gpu() {
  static const Gpu kGpu = [] {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    return Gpu{properties.major, properties.minor, properties.multiProcessorCount};
  }();
  return kGpu;
}

bool is_general(const SoftmaxParams& p) {
  return is_positional(p) || !(p.scale > 0) || !p.normalize;
}

HeadsView out_view(const SoftmaxParams& p, AnyResult out) {
  const Index token = p.d.q_heads * p.d.value_dim;
  return {out.data, out.dtype, p.d.queries * token, token, p.d.value_dim};
}

template <class Shape>
void run(const SoftmaxParams& p, const Schedule& schedule, Workspace& workspace, const float* means,
         AnyResult out, float* lse) {
  const Dims& d = p.d;
  const Index bytes_of_head =
      d.keys * (d.dim + d.value_dim) * Index{sizeof(typename Shape::Element)};
  const Index heads = d.batch * d.q_heads;
  ForwardCall call;
  call.p = p;
  call.query = tensor_map(p.query, d.batch, d.queries, d.q_heads, d.dim, Shape::kRows);
  call.key = tensor_map(p.key, d.batch, d.keys, d.kv_heads, d.dim, Shape::kKeys);
  call.value = tensor_map(p.value, d.batch, d.keys, d.kv_heads, d.value_dim, Shape::kKeys);
  call.out = tensor_map(out_view(p, out), d.batch, d.queries, d.q_heads, d.value_dim, 64);
  call.means = means, call.lse = lse;
  call.order = schedule.order(), call.tile_rows = schedule.tile_rows;
  call.drawn = workspace.counter();
  call.heads_at_once = static_cast<int>(
      std::min(heads, std::max<Index>(1, kCacheBytes / bytes_of_head) * d.group()));
  const Index blocks =
      std::min<Index>(heads * schedule.tile_rows, gpu().multiprocessors * Shape::kBlocks);
  launch("forward on tensor cores", forward_kernel<Shape>, static_cast<unsigned>(blocks),
         Shape::kThreads, block_bytes<ForwardMemory<Shape>, Shape::kBlocks>(), workspace.stream(),
         call);
}

constexpr Tiling kDim64{64, 128, 3, 3, 2, true}, kDim128{128, 128, 2, 2, 2, true},
    kDim256{256, 64, 2, 2, 1, true};
// For masks where few 64 x 64 tiles around an open one are open too: each tile by itself.
constexpr Tiling kFineDim64{64, 64, 1, 2, 1, false, 2}, kFineDim128{128, 64, 1, 2, 1, false, 2};

template <class T, bool kGeneral, class... Arguments>
void run_dim(Index dim, const SoftmaxParams& p, const Schedule& schedule, Arguments&&... rest) {
  const auto with = [&]<class Shape>(Shape) { run<Shape>(p, schedule, rest...); };
  if (dim > 128) return with(ForwardShape<T, kDim256, kGeneral>());
  if (dim > 64 && schedule.is_fine) return with(ForwardShape<T, kFineDim128, kGeneral>());
  if (dim > 64) return with(ForwardShape<T, kDim128, kGeneral>());
  if (schedule.is_fine) return with(ForwardShape<T, kFineDim64, kGeneral>());
  with(ForwardShape<T, kDim64, kGeneral>());
}

}  // namespace

std::string unavailable() {
  const auto [major, minor, multiprocessors] = gpu();
  if (major == 9) return "";
  return "the GPU is sm_" + std::to_string(10 * major + minor) + ", not sm_90";
}

std::string unsupported_forward(const SoftmaxParams& p) {
  if (std::string reason = unavailable(); !reason.empty()) return reason;
  if (p.query.dtype != p.key.dtype || p.query.dtype != p.value.dtype) return "dtypes differ";
  if (most_dim(p.d) > kMostDim) return "256 is the largest head dimension";
  if (p.d.keys == 0 || p.d.dim == 0 || p.d.value_dim == 0) return "an axis has no extent";
  for (const HeadsView* const array : {&p.query, &p.key, &p.value}) {
    if (std::string reason = unreadable(*array); !reason.empty()) return reason;
  }
  return p.d.value_dim % 8 == 0 ? "" : "values have a dimension that is no multiple of 8";
}

Schedule forward_schedule(const MaskView& by_query, const Dims& d, DType dtype, Stream stream) {
  const Index dim = most_dim(d);
  if (size_bytes(dtype) != 2 || dim > kMostDim || !unavailable().empty()) return {};
  const Tiling tiling = dim <= 64 ? kDim64 : dim <= 128 ? kDim128 : kDim256;
  return {by_query, d.queries, tiling.warpgroups, dim <= 128, stream};
}

void forward(Workspace& workspace, const SoftmaxParams& p, const Schedule& schedule,
             const float* means, AnyResult out, float* lse) {
  with_16_bits(p.query.dtype, [&]<class T>(std::type_identity<T>) {
    if (is_general(p)) {
      run_dim<T, true>(most_dim(p.d), p, schedule, workspace, means, out, lse);
    } else {
      run_dim<T, false>(most_dim(p.d), p, schedule, workspace, means, out, lse);
    }
  });
}

}  // namespace maskctl::attention::cuda::hopper
