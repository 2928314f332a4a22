// Words for the batches and heads that differ.
#pragma once

#include <string>
#include <vector>

#include "maskctl/inspect/diff/diff.h"

namespace maskctl {

/// "batch 1, head 0" of a mask of `batches` and `heads`; an axis of extent 1 is not named.
std::string plane_words(Index batch, Index head, Index batches, Index heads);

/// "batch 1, head 0; batch 2, head 3"; of more than four planes "batches 1-6, all heads" where they
/// are the same heads of each of their batches, otherwise the first four and how many more.
std::string where_words(const std::vector<PlaneDiff>& planes, Index batches, Index heads);

}  // namespace maskctl
