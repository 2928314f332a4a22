// The recurrence: aliases, checks, choice of the backend.
#include "maskctl/attention/operations/linear/recurrent.h"

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/operations/linear/linear_backends.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

RecurrentAttentionInputs without_alias(RecurrentAttentionInputs in) {
  if (!in.state) return in;
  if (in.initial_state) {
    throw Error(Errc::kInvalidArgument,
                "state and initial_state are two names of one array; give one");
  }
  in.initial_state = in.state;
  in.state = nullptr;
  return in;
}

}  // namespace

LinearAttentionResult recurrent_attention(const RecurrentAttentionInputs& inputs,
                                          const RecurrentAttentionOptions& options) {
  const RecurrentAttentionInputs in = without_alias(inputs);
  const LinearDims d = checked_linear_dims(in, options);
  auto result = options.backend == Backend::kReference ? reference_linear_forward(in, d)
                                                       : cpu_linear_forward(in, d);
  if (!options.return_state && !inputs.state) result.final_state.reset();
  return result;
}

LinearAttentionGradients recurrent_attention_backward(const RecurrentAttentionInputs& inputs,
                                                      const Tensor& d_out,
                                                      const RecurrentAttentionOptions& options,
                                                      const Tensor* d_final_state) {
  const RecurrentAttentionInputs in = without_alias(inputs);
  const LinearDims d = checked_linear_dims(in, options);
  check_shape("d_out", d_out, d.out_shape());
  if (d_final_state) check_shape("d_final_state", *d_final_state, d.state_shape());
  return options.backend == Backend::kReference
             ? reference_linear_backward(in, d_out, d_final_state, d)
             : cpu_linear_backward(in, d_out, d_final_state, d);
}

}  // namespace maskctl::attention
