// New tokens written into the pages of a cache on the GPU.
#pragma once

#include "maskctl/attention/cuda/paged/plan.h"
#include "maskctl/attention/problems/cache_update.h"

namespace maskctl::attention::cuda {

/// Copies the keys and values of each sequence's rows into their slots of the cache, without
/// changing a bit. Rows of no sequence, or of an invalid one, are not written.
void update_cache(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan,
                  const NewTokens& tokens, const CachePages& pages);

}  // namespace maskctl::attention::cuda
