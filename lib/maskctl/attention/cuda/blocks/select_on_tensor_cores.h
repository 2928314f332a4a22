// Selects the blocks of keys that each token sees, on tensor cores.
#pragma once

#include "maskctl/attention/cuda/blocks/block_plan.h"

namespace maskctl::attention::cuda {

/// Whether select_on_tensor_cores() can run the call: it needs queries of a 16-bit dtype whose
/// heads have at most 256 dimensions, a multiple of 8, and contiguous arrays that begin at
/// multiples of 16 bytes.
bool selects_on_tensor_cores(const SelectionProblem& problem);
/// Computes what select_blocks() computes; its scores are as precise as f32 sums.
void select_on_tensor_cores(Workspace& workspace, const SelectionProblem& problem,
                            const SelectionPlan& plan, const MutableTensorView& selected);

}  // namespace maskctl::attention::cuda
