// Attention on the GPU over the blocks of keys that a list names for each token, and the kernel
// that selects these blocks.
#pragma once

#include "maskctl/attention/cuda/blocks/block_plan.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda {

void blocks_forward(Workspace& workspace, const BlockProblem& problem, const BlockPlan& plan,
                    const SoftmaxOutputs& outputs);
void blocks_backward(Workspace& workspace, const BlockProblem& problem,
                     const BlockGradientPlan& plan, const SoftmaxBackwardInputs& inputs,
                     const SoftmaxGradientOutputs& gradients);
void select_blocks(Workspace& workspace, const SelectionProblem& problem, const SelectionPlan& plan,
                   const MutableTensorView& selected);

}  // namespace maskctl::attention::cuda
