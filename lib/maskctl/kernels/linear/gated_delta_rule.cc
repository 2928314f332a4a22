// The gated delta rule: checks the call, allocates the results and runs the kernels.
#include "maskctl/kernels/linear/gated_delta_rule.h"

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/problems/dims.h"
#include "maskctl/kernels/linear/checked.h"
#include "maskctl/kernels/problems/delta_problem.h"
#include "maskctl/kernels/problems/table.h"

namespace maskctl::attention {
namespace {

DeltaProblem checked_delta(const GatedDeltaRuleInputs& in, const GatedDeltaRuleOptions& options) {
  check_rank("query", in.query, 4);
  check_rank("key", in.key, 4);
  check_rank("value", in.value, 4);
  check_rank("beta", in.beta, 3);
  check_dtypes({{"query", in.query}, {"key", in.key}, {"value", in.value}});
  LinearDims d;
  d.batch = in.query->extent(0), d.tokens = in.query->extent(1);
  d.kv_heads = in.query->extent(2), d.heads = in.value->extent(2);
  d.key_dim = in.query->extent(3), d.value_dim = in.value->extent(3);
  check_shape("key", *in.key, in.query->shape());
  check_shape("value", *in.value, d.out_shape());
  check_head_groups(d.heads, d.kv_heads, "value");
  check_widths(d);
  check_floats("beta", in.beta, {d.batch, d.tokens, d.heads});
  check_floats("g", in.g, {d.batch, d.tokens, d.heads});
  d.sequences = sequences_in(in.cu_seqlens, d.batch, d.tokens);
  check_floats("initial_state", in.initial_state, d.state_shape());
  d.scale = options.softmax_scale.value_or(default_scale(d.key_dim));
  return {{*in.query, *in.key, *in.value, *in.beta, view_of(in.g), view_of(in.initial_state)},
          std::move(d)};
}

}  // namespace

LinearAttentionResult gated_delta_rule(const GatedDeltaRuleInputs& inputs,
                                       const GatedDeltaRuleOptions& options) {
  const DeltaProblem problem = checked_delta(inputs, options);
  LinearAttentionResult result{Tensor::unwritten(problem.value.dtype(), problem.d.out_shape()),
                               Tensor::unwritten(DType::kFloat32, problem.d.state_shape())};
  run_kernel(options.context, "delta_forward", &MasklessKernels::delta_forward, problem,
             {result.out, *result.final_state});
  if (!options.return_state) result.final_state.reset();
  return result;
}

GatedDeltaRuleGradients gated_delta_rule_backward(const GatedDeltaRuleInputs& inputs,
                                                  const Tensor& d_out,
                                                  const GatedDeltaRuleOptions& options,
                                                  const Tensor* d_final_state) {
  const DeltaProblem problem = checked_delta(inputs, options);
  check_shape("d_out", d_out, problem.d.out_shape());
  if (d_final_state) check_shape("d_final_state", *d_final_state, problem.d.state_shape());
  GatedDeltaRuleGradients gradients =
      map_delta_arrays(problem, [](const auto& array) { return unwritten_like(array); });
  run_kernel(options.context, "delta_backward", &MasklessKernels::delta_backward, problem,
             {d_out, view_of(d_final_state)},
             map_delta_arrays(gradients, [](auto& array) { return view_of(array); }));
  return gradients;
}

}  // namespace maskctl::attention
