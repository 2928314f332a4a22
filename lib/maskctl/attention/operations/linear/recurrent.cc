// The recurrence: resolves aliases, checks a call, makes room for its results and runs its kernels.
#include "maskctl/attention/operations/linear/recurrent.h"

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/backends.h"
#include "maskctl/attention/operations/linear/linear_problem.h"

namespace maskctl::attention {
namespace {

RecurrentAttentionInputs without_alias(RecurrentAttentionInputs in) {
  if (!in.state) return in;
  if (in.initial_state) {
    refuse("state and initial_state are two names of one array; give one");
  }
  in.initial_state = in.state;
  in.state = nullptr;
  return in;
}

}  // namespace

LinearAttentionResult recurrent_attention(const RecurrentAttentionInputs& inputs,
                                          const RecurrentAttentionOptions& options) {
  const Context context{options.backend};
  const LinearProblem problem = checked_linear(without_alias(inputs), options);
  LinearAttentionResult result{Tensor::unwritten(problem.value.dtype(), problem.d.out_shape()),
                               Tensor::unwritten(DType::kFloat32, problem.d.state_shape())};
  run_kernel(context, "linear_forward", &Kernels::linear_forward, problem,
             {result.out, *result.final_state});
  if (!options.return_state && !inputs.state) result.final_state.reset();
  return result;
}

LinearAttentionGradients recurrent_attention_backward(const RecurrentAttentionInputs& inputs,
                                                      const Tensor& d_out,
                                                      const RecurrentAttentionOptions& options,
                                                      const Tensor* d_final_state) {
  const Context context{options.backend};
  const LinearProblem problem = checked_linear(without_alias(inputs), options);
  check_shape("d_out", d_out, problem.d.out_shape());
  if (d_final_state) check_shape("d_final_state", *d_final_state, problem.d.state_shape());
  LinearAttentionGradients gradients{
      unwritten_like(problem.query),   unwritten_like(problem.key),
      unwritten_like(problem.value),   unwritten_like(problem.g),
      unwritten_like(problem.g_gamma), unwritten_like(problem.gk),
      unwritten_like(problem.gv),      unwritten_like(problem.initial_state)};
  run_kernel(context, "linear_backward", &Kernels::linear_backward, problem,
             {d_out, view_of(d_final_state)},
             {gradients.query, gradients.key, gradients.value, view_of(gradients.g),
              view_of(gradients.g_gamma), view_of(gradients.gk), view_of(gradients.gv),
              view_of(gradients.initial_state)});
  return gradients;
}

}  // namespace maskctl::attention
