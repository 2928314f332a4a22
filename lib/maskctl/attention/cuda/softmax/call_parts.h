// Cuts a softmax call on large host arrays along its batch, so that the kernel of one part runs
// while the arrays of others are copied.
#pragma once

#include <vector>

#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda {

/// Ranges of batch entries, all of the same size, which together are the whole call. Each part has
/// `least_bytes` of arrays or more. There is only one part if some array is on the GPU, is float64
/// or is needed by all parts, and if a gradient is a sum over the batch.
std::vector<Range> parts_of(const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                            Index least_bytes);
std::vector<Range> parts_of(const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                            const SoftmaxGradientOutputs& gradients, Index least_bytes);

/// The problem of some batch entries. Its arrays and mask are slices of the whole ones; nothing is
/// copied.
SoftmaxProblem part_of(const SoftmaxProblem& whole, Range batches);
/// The arrays of some batch entries: slices, as above. Gradients of bias and sinks are left out,
/// since parts_of() returns only one part for a call that has them.
SoftmaxOutputs part_of(const SoftmaxOutputs& whole, Range batches);
SoftmaxBackwardInputs part_of(const SoftmaxBackwardInputs& whole, Range batches);
SoftmaxGradientOutputs part_of(const SoftmaxGradientOutputs& whole, Range batches);

}  // namespace maskctl::attention::cuda
