// Checks results next to the borders between the shards of a sequence.
#pragma once

#include <set>
#include <vector>

#include "maskctl/verify/verify.h"

namespace maskctl::attention {

/// The first query and the first key of each shard, without those at 0.
struct Borders {
  std::set<Index> queries, keys;
};

/// Makes one check for each border, with a name like "border 64". A check compares two rows on
/// either side of the border, in results and gradients, with the expected ones. Only the first 64
/// borders are checked. Results that only one of `seen` and `expected` has are left out.
std::vector<VerifyCheck> check_borders(const Operation& operation, const Borders& borders,
                                       const NamedResults& seen, const NamedResults& expected);

}  // namespace maskctl::attention
