// Linear attention on the GPU.
#pragma once

#include "maskctl/kernels/cuda/linear/plan.h"

namespace maskctl::attention::cuda {

void linear_forward(Workspace& workspace, const LinearProblem& problem, const LinearPlan& plan,
                    const LinearOutputs& outputs);
void linear_backward(Workspace& workspace, const LinearProblem& problem, const LinearPlan& plan,
                     const LinearBackwardInputs& inputs, const LinearGradientOutputs& gradients);

}  // namespace maskctl::attention::cuda
