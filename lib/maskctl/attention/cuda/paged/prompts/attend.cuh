// Attention of prompts (room.h) on tensor cores of Hopper GPUs.
#pragma once

#include "maskctl/attention/cuda/paged/prompts/prompts.cuh"
#include "maskctl/attention/cuda/paged/source.cuh"

namespace maskctl::attention::cuda {

/// Computes the rows of the prompts. If the call may have prompts, all other rows become zero.
Prompts attend_prompts(Workspace& workspace, const PagedProblem& problem, const PagedCall& call,
                       const PagedPlan& plan, const Source& source, AnyResult out);

}  // namespace maskctl::attention::cuda
