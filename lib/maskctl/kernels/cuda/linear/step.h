// One token of each sequence, as in decoding: the states are read and written once.
#pragma once

#include "maskctl/kernels/cuda/linear/linear_walk.h"

namespace maskctl::attention::cuda {

/// Whether step() supports a walk: forwards, at most one token in each sequence, float32 states
/// that can be read 16 bytes at a time.
bool is_step(const LinearPlan& plan, const LinearWalk& walk);

void step(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk);

}  // namespace maskctl::attention::cuda
