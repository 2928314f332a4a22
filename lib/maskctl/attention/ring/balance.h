// Even shares of queries that see few keys of other ranks.
#pragma once

#include "maskctl/attention/ring/assign.h"

namespace maskctl::attention {

/// What Assign::kBalanced stands for. At most two stretches for each rank change hands, where tiles
/// are small beside what a rank gives away.
Shares balanced_queries(const Mask& mask, Index ranks);

}  // namespace maskctl::attention
