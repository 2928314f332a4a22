// Runs softmax attention for calls that are already checked.
#pragma once

#include "maskctl/attention/problems/softmax_problem.h"
#include "maskctl/attention/softmax/softmax_arrays.h"

namespace maskctl::attention {

// The functions of softmax.h for a call that is already checked. The backward pass still checks
// `forward`, d_out and d_lse.
SoftmaxResult softmax_forward(const SoftmaxProblem& problem, const Context& context);
SoftmaxGradients softmax_backward(const SoftmaxProblem& problem, const SoftmaxResult& forward,
                                  const Tensor& d_out, const Tensor* d_lse, const Context& context);
Tensor softmax_weights(const SoftmaxProblem& problem, const Context& context);

}  // namespace maskctl::attention
