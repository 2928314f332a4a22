// Distributes queries evenly, so that they see few keys of other ranks.
#pragma once

#include "maskctl/attention/ring/assign.h"

namespace maskctl::attention {

/// Implements Assign::kBalanced. If tiles are small compared to what a rank must give away, the
/// number of ranges that move is hardly more than the number of ranks.
Shares balanced_queries(const Mask& mask, Index ranks);

}  // namespace maskctl::attention
