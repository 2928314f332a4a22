// Makes the tile table for attention to prompts, whose keys are first copied from pages to
// neighbouring memory. Queries of the table are the rows of the call, keys are the copied tokens.
#pragma once

#include "maskctl/attention/cuda/paged/prompts/prompts.cuh"
#include "maskctl/attention/cuda/paged/source.cuh"
#include "maskctl/attention/cuda/tiles/device_tiles.h"

namespace maskctl::attention::cuda {

/// Launches kernels that make the table, in memory of the workspace. A kernel must have filled
/// `prompts` before (place_prompts).
MaskView prompt_tiles(Workspace& workspace, const PagedCall& call, const Source& source,
                      const Prompts& prompts);

}  // namespace maskctl::attention::cuda
