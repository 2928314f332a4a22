// Finds packed documents under a band in spite of a few odd cells, rows, columns or rectangles;
// private to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// Chains `doc:lens=... | band` (either step may be missing) that are close to a plane of as many
/// queries as keys: at most four, the closest first. They differ from the plane in few cells, or in
/// some rows, columns and rectangles. With more borders than can be tried, chains_by_own_runs().
std::vector<Chain> packed_chains(const PlanePtr& plane);

}  // namespace maskctl::recognition
