// Latent attention (MLA) of contiguous arrays on the GPU. The keys and values of all heads are
// computed as a grouped product with one group, in the dtype of the latent.
#pragma once

#include "maskctl/attention/cuda/grouped/grouped_product.h"
#include "maskctl/attention/cuda/softmax/softmax.h"
#include "maskctl/attention/problems/mla_problem.h"

namespace maskctl::attention::cuda {

/// The mask on the GPU, and the tokens as the only group of a grouped product.
struct MlaPlan {
  MlaPlan(const MlaProblem& problem, Stream stream);
  SoftmaxPlan softmax;
  GroupedPlan tokens;
};
struct MlaBackwardPlan {
  MlaBackwardPlan(const MlaProblem& problem, Stream stream);
  SoftmaxBackwardPlan softmax;
  GroupedPlan tokens;
};

// These functions launch kernels and do not wait for the GPU.
void mla_forward(Workspace& workspace, const MlaProblem& problem, const MlaPlan& plan,
                 const SoftmaxOutputs& outputs);
void mla_backward(Workspace& workspace, const MlaProblem& problem, const MlaBackwardPlan& plan,
                  const SoftmaxBackwardInputs& inputs, const MlaGradientOutputs& gradients);

}  // namespace maskctl::attention::cuda
