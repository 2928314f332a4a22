// Causal and window rules as the reason why two planes differ; private to inspect.
#pragma once

#include "maskctl/inspect/diff_finding.h"

namespace maskctl {

/// One side of a band of diagonals, or both together, moved.
MaybeFinding diagonals_rule(const PlanePair& pair);

}  // namespace maskctl
