// Softmax attention of host arrays.
#pragma once

#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda {

/// Calls with at least twice as many bytes of arrays are cut into parts (call_parts.h).
inline constexpr Index kLeastPartBytes = Index{256} << 20;

/// softmax_forward() and softmax_backward() of arrays on the host. Each part of a large call has a
/// stream of its own, so its arrays are copied to the GPU and back beside the kernels of the parts
/// before and after it. At most two parts are on the GPU at a time.
void softmax_forward_from_host(const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                               Index least_part_bytes = kLeastPartBytes);
void softmax_backward_from_host(const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                                const SoftmaxGradientOutputs& gradients,
                                Index least_part_bytes = kLeastPartBytes);

}  // namespace maskctl::attention::cuda
