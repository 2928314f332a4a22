// The chunked walk for gates on the channels of `to`, or for gradients of gates.
#pragma once

#include "maskctl/kernels/cuda/linear/linear_walk.h"

namespace maskctl::attention::cuda::hopper {

/// Like chunked_walk(); the walk must not have gates on the channels of `from`.
void gated_walk(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk);

}  // namespace maskctl::attention::cuda::hopper
