// Attention over listed blocks on the tensor cores of Hopper GPUs.
#pragma once

#include "maskctl/attention/cuda/blocks/block_attention.h"

namespace maskctl::attention::cuda::hopper {

/// Whether the kernels of this folder can run the call: they need a Hopper GPU, arrays of one
/// 16-bit dtype, heads of 64 or 128 dimensions, and a block size that is a multiple of 64.
bool takes_blocks(const BlockProblem& problem, const BlockLists& lists);
/// Computes the same as blocks_forward().
void attend(Workspace& workspace, const BlockProblem& problem, const BlockLists& lists,
            const SoftmaxOutputs& outputs);

}  // namespace maskctl::attention::cuda::hopper
