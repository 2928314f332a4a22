// Causal and window rules as the reason why two planes differ; private to inspect.
#pragma once

#include "maskctl/inspect/diff_reason.h"

namespace maskctl {

/// One side of a band of diagonals, or both together, moved.
MaybeReason diagonals_rule(const PlanePair& pair);

}  // namespace maskctl
