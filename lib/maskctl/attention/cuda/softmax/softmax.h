// Softmax attention of arrays on the GPU; tiles that the mask closes are never read. 16-bit arrays
// of Hopper GPUs meet tensor cores (hopper/), all others f32 tiles of 64 x 64.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/hopper/key_order.h"
#include "maskctl/attention/cuda/hopper/schedule.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"
#include "maskctl/attention/softmax/softmax_problem.h"

namespace maskctl::attention::cuda {

/// The mask of a problem on the GPU, which any number of calls under that mask can share.
struct SoftmaxPlan {
  SoftmaxPlan(const SoftmaxProblem& problem, Stream stream, bool both_orders = false);
  DeviceTiles tiles;
  hopper::Schedule schedule;  // of the forward pass
};
/// With what gradients need.
struct SoftmaxBackwardPlan : SoftmaxPlan {
  SoftmaxBackwardPlan(const SoftmaxProblem& problem, Stream stream);
  hopper::KeyOrder key_order;
};

// Arrays have no gaps along their last axis; results have none at all. The problem's mask is that
// of the plan: it is not looked at. Nothing waits for the GPU.
void softmax_forward(Workspace& workspace, const SoftmaxProblem& problem, const SoftmaxPlan& plan,
                     const SoftmaxOutputs& outputs);
void softmax_weights(Workspace& workspace, const SoftmaxProblem& problem, const SoftmaxPlan& plan,
                     const MutableTensorView& weights);
void softmax_backward(Workspace& workspace, const SoftmaxProblem& problem,
                      const SoftmaxBackwardPlan& plan, const SoftmaxBackwardInputs& inputs,
                      const SoftmaxGradientOutputs& gradients);

}  // namespace maskctl::attention::cuda
