// Checks of shapes and options, made before any work.
#include "maskctl/attention/softmax/checked.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl::attention {
namespace {

using Shape = std::vector<Index>;

}  // namespace

void check_mask(const Mask& mask, const Dims& d) {
  const bool fits = (mask.batch() == 1 || mask.batch() == d.batch) &&
                    (mask.heads() == 1 || mask.heads() == d.q_heads) &&
                    mask.queries() == d.queries && mask.keys() == d.keys;
  if (!fits) {
    refuse_shape(fmt::format("the mask is {}, expected [B {}, H {}, Q {}, K {}]", shape_text(mask),
                             any_of_text({1, d.batch}), any_of_text({1, d.q_heads}), d.queries,
                             d.keys));
  }
}

void check_settings(const SoftmaxSettings& s) {
  check_soft_cap(s.soft_cap);
  if (!(s.dropout >= 0 && s.dropout < 1)) {
    refuse(fmt::format("dropout {} is outside [0, 1)", s.dropout));
  }
}

void check_options(const SoftmaxOptions& o) {
  check_soft_cap(o.soft_cap);
  if (o.scale && !std::isfinite(*o.scale)) {
    refuse(fmt::format("scale {} is not finite; leave it out for 1 / sqrt(D)", *o.scale));
  }
  check_settings(o);
}

void check_bias(const TensorView& bias, const Dims& d) {
  check_float("bias", bias);
  const std::array<Index, 4> full{d.batch, d.q_heads, d.queries, d.keys};
  bool fits = bias.rank() == 4;
  for (Index axis = 0; fits && axis < 4; ++axis) {
    fits = bias.extent(axis) == 1 || bias.extent(axis) == full[as_size(axis)];
  }
  if (!fits) {
    refuse_shape(fmt::format("bias is {}, expected {} with any axis 1", shape_text(bias.shape()),
                             shape_text(full)));
  }
}

void check_sinks(const TensorView& sinks, const Dims& d) {
  check_float("sinks", sinks);
  const bool fits =
      sinks.rank() == 1 ||
      (sinks.rank() == 2 && (sinks.extent(0) == d.q_heads || sinks.extent(0) == d.kv_heads));
  if (!fits) {
    refuse_shape(fmt::format("sinks are {}, expected (n,), ({}, n) or ({}, n)",
                             shape_text(sinks.shape()), d.q_heads, d.kv_heads));
  }
}

Dims checked_dims(const SoftmaxInputs& in, const SoftmaxOptions& options) {
  check_rank("query", in.query, 4);
  check_rank("key", in.key, 4);
  check_rank("value", in.value, 4);
  check_dtypes({{"query", in.query}, {"key", in.key}, {"value", in.value}});
  const Dims d{in.query->extent(0), in.query->extent(1), in.key->extent(1),  in.query->extent(2),
               in.key->extent(2),   in.query->extent(3), in.value->extent(3)};
  check_shape("key", *in.key, Shape{d.batch, d.keys, d.kv_heads, d.dim});
  check_shape("value", *in.value, Shape{d.batch, d.keys, d.kv_heads, d.value_dim});
  check_head_groups(d.q_heads, d.kv_heads);
  if (in.mask) check_mask(*in.mask, d);
  if (in.bias) check_bias(*in.bias, d);
  if (in.sinks) check_sinks(*in.sinks, d);
  check_options(options);
  return d;
}

SoftmaxProblem softmax_problem(const SoftmaxInputs& in, const SoftmaxOptions& options,
                               const Dims& d, Mask mask) {
  return {d,
          *in.query,
          *in.key,
          *in.value,
          std::move(mask),
          in.block_map,
          view_of(in.bias),
          view_of(in.sinks),
          options.scale.value_or(default_scale(d.dim)),
          options};
}

SoftmaxProblem checked_softmax(const SoftmaxInputs& in, const SoftmaxOptions& options) {
  const Dims d = checked_dims(in, options);
  return softmax_problem(in, options, d, in.mask ? *in.mask : Mask(full_plane(d.queries, d.keys)));
}

void check_backward(const Dims& d, const SoftmaxResult& forward, const Tensor& d_out,
                    const Tensor* d_lse) {
  check_shape("d_out", d_out, d.out_shape());
  check_shape("out", forward.out, d.out_shape());
  check_shape("lse", forward.lse, d.lse_shape());
  if (d_lse) check_shape("d_lse", *d_lse, d.lse_shape());
}

SoftmaxResult unwritten_result(const Dims& d, DType dtype) {
  return {Tensor::unwritten(dtype, d.out_shape()),
          Tensor::unwritten(DType::kFloat32, d.lse_shape())};
}

}  // namespace maskctl::attention
