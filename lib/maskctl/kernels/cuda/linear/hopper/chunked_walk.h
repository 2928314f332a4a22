// The recurrence of linear attention in chunks of 64 tokens, on the tensor cores of Hopper GPUs,
// for arrays of 16-bit elements.
#pragma once

#include "maskctl/kernels/cuda/linear/linear_walk.h"

namespace maskctl::attention::cuda::hopper {

/// Whether chunked_walk() supports this walk on the current GPU and is faster than the kernel of
/// walk.cu, which steps through single tokens.
bool takes(const LinearPlan& plan, const LinearWalk& walk);

void chunked_walk(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk);

}  // namespace maskctl::attention::cuda::hopper
