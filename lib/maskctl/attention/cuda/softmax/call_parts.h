// Cuts a softmax call of large host arrays into parts, so that the kernel of one part runs while
// the arrays of others are copied.
#pragma once

#include <vector>

#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda {

/// Some batch entries of a call, with all heads; or some key heads and their query heads, with all
/// batch entries.
struct CallPart {
  Range batches, kv_heads;
};

/// Equal parts that together are the whole call. Each has `least_bytes` of arrays or more. There is
/// only one part where arrays are on the GPU or float64, and where a result is a sum over parts.
std::vector<CallPart> parts_of(const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                               Index least_bytes);
std::vector<CallPart> parts_of(const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                               const SoftmaxGradientOutputs& gradients, Index least_bytes);

/// True if all parts have the same mask, so that one plan serves them all.
bool share_mask(const SoftmaxProblem& whole, const CallPart& part);

/// The problem of one part. Its arrays and mask are slices of the whole ones; nothing is copied.
SoftmaxProblem part_of(const SoftmaxProblem& whole, const CallPart& part);
/// The arrays of one part of a call with the dimensions `whole`: slices, as above.
SoftmaxOutputs part_of(const SoftmaxOutputs& arrays, const Dims& whole, const CallPart& part);
SoftmaxBackwardInputs part_of(const SoftmaxBackwardInputs& arrays, const Dims& whole,
                              const CallPart& part);
SoftmaxGradientOutputs part_of(const SoftmaxGradientOutputs& arrays, const Dims& whole,
                               const CallPart& part);

}  // namespace maskctl::attention::cuda
