// Cuts a softmax call on large host arrays along its batch, so that the kernel of one part runs
// while the arrays of other parts are copied.
#pragma once

#include <vector>

#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda {

/// Returns the parts of a call: ranges of batch entries, all of the same size, that together cover
/// the batch. The arrays of each part have at least `least_bytes` bytes together, or there is only
/// one part. There is also only one part if some array is on the GPU, has gaps or is float64, if
/// all batch entries share one bias, or if a gradient (of the bias or sinks) is a sum over the
/// batch.
std::vector<Range> parts_of(const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                            Index least_bytes);
std::vector<Range> parts_of(const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                            const SoftmaxGradientOutputs& gradients, Index least_bytes);

/// Returns the problem of some batch entries. Its arrays and mask are slices of those of `whole`;
/// nothing is copied.
SoftmaxProblem part_of(const SoftmaxProblem& whole, Range batches);
/// Returns the arrays of some batch entries, as slices of those of `whole`. Gradients of bias and
/// sinks are left out, since parts_of() returns only one part for a call that has them.
SoftmaxOutputs part_of(const SoftmaxOutputs& whole, Range batches);
SoftmaxBackwardInputs part_of(const SoftmaxBackwardInputs& whole, Range batches);
SoftmaxGradientOutputs part_of(const SoftmaxGradientOutputs& whole, Range batches);

}  // namespace maskctl::attention::cuda
