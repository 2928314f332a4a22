// Finds masks whose cells were read with the extents of queries and keys exchanged.
#pragma once

#include <optional>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The chain of at most two steps without arrays that makes the cells of a mask, one row after the
/// other, if its rows are taken to be as long as its columns: so it recognises an array [K,Q] that
/// was read as [Q,K]. Nothing for square and large masks, for those of a single query or key, and
/// without such a chain.
std::optional<Chain> chain_with_exchanged_extents(const Mask& mask);

}  // namespace maskctl
