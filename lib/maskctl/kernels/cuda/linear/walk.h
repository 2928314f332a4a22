// Runs a walk on the kernel that suits it.
#pragma once

#include "maskctl/kernels/cuda/linear/linear_walk.h"

namespace maskctl::attention::cuda {

void walk(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk);

}  // namespace maskctl::attention::cuda
