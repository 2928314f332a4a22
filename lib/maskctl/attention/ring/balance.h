// Even shares of queries that see few keys of other ranks.
#pragma once

#include "maskctl/attention/ring/assign.h"

namespace maskctl::attention {

/// The shares of Assign::kBalanced. Where tiles are small compared to what a rank has to give away,
/// hardly more stretches move than there are ranks.
Shares balanced_queries(const Mask& mask, Index ranks);

}  // namespace maskctl::attention
