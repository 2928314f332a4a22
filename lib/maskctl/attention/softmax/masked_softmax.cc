// Composes the mask, calls the core, and keeps void queries out of it.
#include "maskctl/attention/softmax/masked_softmax.h"

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/softmax/backends.h"
#include "maskctl/attention/softmax/dims.h"

namespace maskctl::attention {
namespace {

ComposedMask mask_of(SoftmaxInputs inputs, const MaskArguments& arguments,
                     const SoftmaxOptions& options) {
  inputs.mask = nullptr;
  const Dims d = checked_dims(inputs, options);
  return compose(arguments, {d.batch, d.q_heads, d.kv_heads, d.queries, d.keys});
}

SoftmaxInputs under(const ComposedMask& composed, const MaskArguments& arguments,
                    SoftmaxInputs inputs) {
  inputs.mask = &composed.mask;
  inputs.block_map = arguments.block_map;
  return inputs;
}

/// Zeroes the void queries of an array with the queries on `axis`.
void clear_void(const std::vector<Index>& query_ends, Index axis, Tensor& x) {
  if (x.elements() == 0) return;
  const Index queries = x.extent(axis), batch = x.extent(0);
  Index inner = size_bytes(x.dtype());
  for (Index i = axis + 1; i < x.rank(); ++i) inner *= x.extent(i);
  const Index planes = static_cast<Index>(x.bytes().size()) / (inner * queries);
  for (std::size_t b = 0; b < query_ends.size(); ++b) {
    const Index first = static_cast<Index>(b) * (planes / batch);
    for (Index plane = first; plane < first + planes / batch; ++plane) {
      const auto rows =
          x.bytes().subspan(as_size(plane * queries * inner), as_size(queries * inner));
      std::ranges::fill(rows.subspan(as_size(query_ends[b] * inner)), std::byte{0});
    }
  }
}

}  // namespace

SoftmaxResult masked_forward(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                             const SoftmaxOptions& options) {
  const ComposedMask composed = mask_of(inputs, arguments, options);
  const SoftmaxInputs masked = under(composed, arguments, inputs);
  SoftmaxResult result = softmax_forward(masked, options);
  clear_void(composed.query_ends, 1, result.out);
  return result;
}

SoftmaxGradients masked_backward(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                                 const SoftmaxResult& forward, const Tensor& d_out,
                                 const SoftmaxOptions& options, const Tensor* d_lse) {
  const ComposedMask composed = mask_of(inputs, arguments, options);
  const SoftmaxInputs masked = under(composed, arguments, inputs);
  if (composed.query_ends.empty()) {
    return softmax_backward(masked, forward, d_out, options, d_lse);
  }
  check_shape("d_out", d_out, forward.out.shape());
  Tensor live_out = d_out;
  clear_void(composed.query_ends, 1, live_out);
  if (!d_lse) return softmax_backward(masked, forward, live_out, options);
  check_shape("d_lse", *d_lse, forward.lse.shape());
  Tensor live_lse = *d_lse;
  clear_void(composed.query_ends, 2, live_lse);
  return softmax_backward(masked, forward, live_out, options, &live_lse);
}

Tensor masked_weights(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                      const SoftmaxOptions& options) {
  const ComposedMask composed = mask_of(inputs, arguments, options);
  const SoftmaxInputs masked = under(composed, arguments, inputs);
  Tensor weights = softmax_weights(masked, options);
  clear_void(composed.query_ends, 2, weights);
  return weights;
}

}  // namespace maskctl::attention
