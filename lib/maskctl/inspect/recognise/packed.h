// Packed documents under a band, whatever a few odd cells, rows, columns or rectangles say; private
// to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// Chains `doc:lens=... | band` (either may be missing) that are near a plane of as many queries as
/// keys, the nearest first; at most four. What they miss is small, or some rows, columns and
/// rectangles. Empty for planes with more borders than can be tried.
std::vector<Chain> packed_chains(const PlanePtr& plane);

}  // namespace maskctl::recognition
