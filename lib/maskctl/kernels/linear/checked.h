// Checks a linear attention call and makes the problem for its kernels.
#pragma once

#include "maskctl/kernels/linear/recurrent.h"
#include "maskctl/kernels/problems/linear_problem.h"

namespace maskctl::attention {

/// Throws the errors that recurrent_attention documents. Expects inputs.state to be null.
LinearProblem checked_linear(const RecurrentAttentionInputs& inputs,
                             const RecurrentAttentionOptions& options);

/// Throws Error(kShape) for keys or values without channels.
void check_widths(const LinearDims& d);

}  // namespace maskctl::attention
