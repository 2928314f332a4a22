// Whether results hold beside the borders between the shards of a sequence.
#pragma once

#include <set>
#include <vector>

#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention {

/// The first queries and keys of shards, without those at 0.
struct Borders {
  std::set<Index> queries, keys;
};

/// One check for each border, "border 64": the rows of two queries and two keys on either side in
/// results and gradients against the expected ones. At most the first 64 borders are checked.
/// Results that only one of the two has are left out.
std::vector<VerifyCheck> check_borders(const Operation& operation, const Borders& borders,
                                       const NamedResults& seen, const NamedResults& expected);

}  // namespace maskctl::attention
