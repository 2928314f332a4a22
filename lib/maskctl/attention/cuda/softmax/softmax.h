// Softmax attention of arrays on the GPU. Tiles that the mask closes are never read. 16-bit arrays
// on Hopper GPUs use tensor cores (hopper/), all others f32 tiles of 64 x 64 (plain/).
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/softmax/hopper/key_order.h"
#include "maskctl/attention/cuda/softmax/hopper/schedule.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda {

/// The mask of a problem, on the GPU. Calls under that mask can share the plan if their arrays have
/// the problem's shapes and dtypes.
struct SoftmaxPlan {
  SoftmaxPlan(const SoftmaxProblem& problem, Stream stream, bool both_orders = false);
  DeviceTiles tiles;
  hopper::Schedule schedule;  // for the forward pass
};
/// A SoftmaxPlan, and what the backward pass needs besides.
struct SoftmaxBackwardPlan : SoftmaxPlan {
  SoftmaxBackwardPlan(const SoftmaxProblem& problem, Stream stream);
  hopper::KeyOrder key_order;
};

// Inputs are contiguous along their last axis, results along all axes. The mask is that of the
// plan: problem.mask is not read. No function waits for the GPU.
void softmax_forward(Workspace& workspace, const SoftmaxProblem& problem, const SoftmaxPlan& plan,
                     const SoftmaxOutputs& outputs);
void softmax_weights(Workspace& workspace, const SoftmaxProblem& problem, const SoftmaxPlan& plan,
                     const MutableTensorView& weights);
void softmax_backward(Workspace& workspace, const SoftmaxProblem& problem,
                      const SoftmaxBackwardPlan& plan, const SoftmaxBackwardInputs& inputs,
                      const SoftmaxGradientOutputs& gradients);

}  // namespace maskctl::attention::cuda
