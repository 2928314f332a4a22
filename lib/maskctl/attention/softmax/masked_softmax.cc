// Composes the mask, runs softmax attention under it, and zeroes void queries.
#include "maskctl/attention/softmax/masked_softmax.h"

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/attention/softmax/run.h"

namespace maskctl::attention {
namespace {

/// A checked call with its composed mask.
struct MaskedProblem {
  SoftmaxProblem softmax;
  std::vector<Index> query_ends;  // where void queries begin: see ComposedMask
};

MaskedProblem masked(SoftmaxInputs inputs, const MaskArguments& arguments,
                     const SoftmaxOptions& options, const Context& context) {
  const WorkScope scope(context.limits());
  inputs.mask = nullptr;
  inputs.block_map = arguments.block_map;
  const Dims d = checked_dims(inputs, options);
  ComposedMask composed = compose(arguments, {d.batch, d.q_heads, d.kv_heads, d.queries, d.keys});
  return {softmax_problem(inputs, options, d, std::move(composed.mask)),
          std::move(composed.query_ends)};
}

}  // namespace

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

SoftmaxResult masked_forward(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                             const SoftmaxOptions& options) {
  const Context& context = options.context;
  const MaskedProblem problem = masked(inputs, arguments, options, context);
  SoftmaxResult result = softmax_forward(problem.softmax, context);
  clear_void(problem.query_ends, 1, result.out);
  return result;
}

SoftmaxGradients masked_backward(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                                 const SoftmaxResult& forward, const Tensor& d_out,
                                 const SoftmaxOptions& options, const Tensor* d_lse) {
  const Context& context = options.context;
  const MaskedProblem problem = masked(inputs, arguments, options, context);
  if (problem.query_ends.empty()) {
    return softmax_backward(problem.softmax, forward, d_out, d_lse, context);
  }
  check_shape("d_out", d_out, forward.out.shape());
  Tensor live_out = d_out;
  clear_void(problem.query_ends, 1, live_out);
  if (!d_lse) return softmax_backward(problem.softmax, forward, live_out, nullptr, context);
  check_shape("d_lse", *d_lse, forward.lse.shape());
  Tensor live_lse = *d_lse;
  clear_void(problem.query_ends, 2, live_lse);
  return softmax_backward(problem.softmax, forward, live_out, &live_lse, context);
}

Tensor masked_weights(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                      const SoftmaxOptions& options) {
  const Context& context = options.context;
  const MaskedProblem problem = masked(inputs, arguments, options, context);
  Tensor weights = softmax_weights(problem.softmax, context);
  clear_void(problem.query_ends, 2, weights);
  return weights;
}

}  // namespace maskctl::attention
