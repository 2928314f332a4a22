#include <algorithm>

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/attention/cuda/hopper/tensor_map.cuh"
#include "maskctl/attention/cuda/softmax/hopper/forward.cuh"
#include "maskctl/attention/cuda/softmax/hopper/forward.h"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr Index kMostDim = 256;

Index most_dim(const Dims& d) { return std::max(d.dim, d.value_dim); }

bool is_general(const SoftmaxParams& p) {
  return is_positional(p) || !(p.scale > 0) || !p.normalize;
}

template <class Shape>
void run(const SoftmaxParams& p, const TileRowOrder& order, Workspace& workspace,
         const float* means, const ForwardResults& results) {
  const Dims& d = p.d;
  const Index bytes_of_head =
      d.keys * (d.dim + d.value_dim) * Index{sizeof(typename Shape::Element)};
  const Index heads = d.batch * d.q_heads;
  ForwardCall call;
  call.p = p;
  call.query = tensor_map(p.query, d.batch, d.queries, d.q_heads, d.dim, Shape::kRows);
  call.key = tensor_map(p.key, d.batch, d.keys, d.kv_heads, d.dim, Shape::kKeys);
  call.value = tensor_map(p.value, d.batch, d.keys, d.kv_heads, d.value_dim, Shape::kKeys);
  call.out = tensor_map(results.out, d.batch, d.queries, d.q_heads, d.value_dim, 64);
  call.means = means, call.lse = results.lse, call.out_scale = results.scale;
  call.order = order.rows, call.tile_rows = order.tile_rows;
  call.drawn = workspace.counters();
  call.heads_at_once = static_cast<int>(
      std::min(heads, std::max<Index>(1, shared_cache_bytes() / bytes_of_head) * d.group()));
  const Index blocks = std::min<Index>(heads * order.tile_rows,
                                       properties_in_use().multiprocessors * Shape::kBlocks);
  launch("forward on tensor cores", forward_kernel<Shape>, static_cast<unsigned>(blocks),
         Shape::kThreads, block_bytes<ForwardMemory<Shape>, Shape::kBlocks>(), workspace.stream(),
         call);
}

constexpr Tiling kDim64{64, 64, 128, 3, 3, 2, true}, kDim128{128, 128, 128, 2, 2, 2, true},
    kDim192{192, 128, 128, 2, 2, 1, true}, kDim256{256, 256, 64, 2, 2, 1, true};
// Tilings for masks where few of the 64 x 64 tiles next to an open tile are open: tiles of 64 x 64.
constexpr Tiling kFineDim64{64, 64, 64, 1, 2, 1, false, 2},
    kFineDim128{128, 128, 64, 1, 2, 1, false, 2};

int warpgroups(Index dim) {
  return (dim <= 64 ? kDim64 : dim <= 128 ? kDim128 : kDim256).warpgroups;
}

template <class T, bool kGeneral, class... Arguments>
void run_dim(const SoftmaxParams& p, const TileRowOrder& order, Arguments&&... rest) {
  const Index dim = most_dim(p.d);
  const auto with = [&]<class Shape>(Shape) { run<Shape>(p, order, rest...); };
  // Heads of latent attention (MLA) have these widths: keys of 128 + 64 elements, values of 128.
  if constexpr (!kGeneral) {
    const bool is_narrow = p.d.dim <= kDim192.dim && p.d.value_dim <= kDim192.value_dim;
    if (dim > 128 && is_narrow) return with(ForwardShape<T, kDim192, kGeneral>());
  }
  if (dim > 128) return with(ForwardShape<T, kDim256, kGeneral>());
  if (dim > 64 && order.is_fine) return with(ForwardShape<T, kFineDim128, kGeneral>());
  if (dim > 64) return with(ForwardShape<T, kDim128, kGeneral>());
  if (order.is_fine) return with(ForwardShape<T, kFineDim64, kGeneral>());
  with(ForwardShape<T, kDim64, kGeneral>());
}

}  // namespace

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

Schedule forward_schedule(const DeviceTiles& tiles, const Dims& d, DType dtype, Stream stream) {
  const Index dim = most_dim(d);
  if (size_bytes(dtype) != 2 || dim > kMostDim || !unavailable().empty()) return {};
  return {tiles, TileOrder::kQueryMajor, warpgroups(dim), dim <= 128, stream};
}

TileRowOrder forward_order(Workspace& workspace, const MaskView& by_query, const Dims& d,
                           bool is_fine) {
  const int wide = is_fine ? 1 : warpgroups(most_dim(d));
  int* const memory = workspace.take<int>(TileRowOrder::ints(by_query, d.queries, wide));
  TileRowOrder order(by_query, d.queries, wide, memory, workspace.stream());
  order.is_fine = is_fine;
  return order;
}

void forward(Workspace& workspace, const SoftmaxParams& p, const TileRowOrder& order,
             const float* means, const ForwardResults& results) {
  with_16_bits(p.query.dtype, [&]<class T>(std::type_identity<T>) {
    if (is_general(p)) {
      run_dim<T, true>(p, order, workspace, means, results);
    } else {
      run_dim<T, false>(p, order, workspace, means, results);
    }
  });
}

}  // namespace maskctl::attention::cuda::hopper
