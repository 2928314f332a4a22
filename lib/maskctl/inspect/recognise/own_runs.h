// Finds packed documents by the runs of keys that contain each query's own token, in spite of all
// other cells; private to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// Chains `doc:lens=... | band` of a plane of as many queries as keys that is stored as bands; the
/// band bounds most own runs, and is absent if none does. Documents of less than four tokens on
/// average may only stand for single cells: then no chain. Takes O(tokens).
std::vector<Chain> chains_by_own_runs(const Plane& plane);

}  // namespace maskctl::recognition
