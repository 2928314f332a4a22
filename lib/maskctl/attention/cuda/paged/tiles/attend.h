// Attention over pages by blocks of any dtype and shape, for rows that nothing faster takes.
#pragma once

#include "maskctl/attention/cuda/paged/plan.h"

namespace maskctl::attention::cuda {

/// Computes what paged() computes, for any problem that it accepts.
void attend_tiles(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan,
                  const MutableTensorView& out);

}  // namespace maskctl::attention::cuda
