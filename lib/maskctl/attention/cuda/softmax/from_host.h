// Softmax attention of arrays on the host, computed on the GPU.
#pragma once

#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda {

/// The least number of bytes in the arrays of one part of a call. Calls with at least twice as many
/// bytes are cut into parts (call_parts.h).
inline constexpr Index kLeastPartBytes = Index{256} << 20;

/// softmax_forward() and softmax_backward() for arrays on the host. Each part of a large call (some
/// of its batch entries) has a stream of its own, so that its arrays are copied while the kernels
/// of the part before or after it run. At most two parts are on the GPU at a time.
void softmax_forward_from_host(const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                               Index least_part_bytes = kLeastPartBytes);
void softmax_backward_from_host(const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                                const SoftmaxGradientOutputs& gradients,
                                Index least_part_bytes = kLeastPartBytes);

}  // namespace maskctl::attention::cuda
