// Gradients of attention over listed blocks on the tensor cores of Hopper GPUs.
#pragma once

#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/blocks/key_sums.h"

namespace maskctl::attention::cuda::hopper {

/// What the gradients need for a row of scores (one token and query head): `lse` is the row's lse
/// times log2(e); `delta` is the dot product of the row's output and of the gradient of this
/// output.
struct RowTerms {
  float lse, delta;
};
/// Returns how many RowTerms differentiate_queries() writes: for each token and key head, as many
/// as the key head has query heads, rounded up to a multiple of 16.
Index row_terms(const BlockProblem& problem);

/// Whether the kernels can also read the outputs and their gradient. Call it only if takes_blocks()
/// is true.
bool takes_gradients(const BlockProblem& problem, const SoftmaxBackwardInputs& inputs);
/// Computes the gradients of the queries, and writes the `terms` that differentiate_keys() reads.
void differentiate_queries(Workspace& workspace, const BlockProblem& problem,
                           const BlockLists& lists, const SoftmaxBackwardInputs& inputs,
                           const MutableTensorView& d_query, RowTerms* terms);
/// Computes the gradients of the keys and values in all tiles of the plan.
void differentiate_keys(Workspace& workspace, const BlockProblem& problem,
                        const BlockGradientPlan& plan, const SoftmaxBackwardInputs& inputs,
                        const RowTerms* terms, const KeySums& to);

}  // namespace maskctl::attention::cuda::hopper
