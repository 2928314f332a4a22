// Finds masks whose cells were read with the extents of queries and keys exchanged.
#pragma once

#include <optional>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The chain of at most two steps without arrays that the cells of a mask make, one row after the
/// other, if its rows are as long as its columns: what an array [K,Q] is that was read as [Q,K].
/// Nothing for square and large masks, for those of a single query or key, and without such a
/// chain.
std::optional<Chain> chain_with_exchanged_extents(const Mask& mask);

}  // namespace maskctl
