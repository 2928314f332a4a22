// Merges the partial results of tiles whose keys are split.
#pragma once

#include "maskctl/attention/cuda/paged/tiles/task.cuh"

namespace maskctl::attention::cuda {

/// Writes the results of all tiles of more than one split; there are `tasks` tasks at most.
void merge_splits(Stream stream, const PagedCall& call, const Tiling& t, unsigned tasks,
                  const Scheduled* entries, Index count, const Parts& parts, AnyResult out);

}  // namespace maskctl::attention::cuda
