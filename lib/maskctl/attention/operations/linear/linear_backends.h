// The implementations behind recurrent_attention; inputs are already checked.
#pragma once

#include "maskctl/attention/operations/linear/linear_dims.h"

namespace maskctl::attention {

/// The result always has the final state.
LinearAttentionResult reference_linear_forward(const RecurrentAttentionInputs& inputs,
                                               const LinearDims& dims);
LinearAttentionGradients reference_linear_backward(const RecurrentAttentionInputs& inputs,
                                                   const Tensor& d_out, const Tensor* d_final_state,
                                                   const LinearDims& dims);

LinearAttentionResult cpu_linear_forward(const RecurrentAttentionInputs& inputs,
                                         const LinearDims& dims);
LinearAttentionGradients cpu_linear_backward(const RecurrentAttentionInputs& inputs,
                                             const Tensor& d_out, const Tensor* d_final_state,
                                             const LinearDims& dims);

}  // namespace maskctl::attention
