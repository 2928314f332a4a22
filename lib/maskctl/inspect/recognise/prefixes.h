// Finds a prefix that sees itself, and the window around each query, in spite of odd cells; private
// to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// Chains `causal | prefix:n=N`, with a window where one cuts most rows, of a plane of as many
/// queries as keys. N is where most rows end that see keys after their own. Empty if few do.
std::vector<Chain> prefix_chains(const Plane& plane);

}  // namespace maskctl::recognition
