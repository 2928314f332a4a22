// Counts the blocks that differ between planes whose rows are clipped classes; private to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// The number of block x block blocks in which any cell differs, in O((queries + keys) * blocks per
/// row / 64), without visiting the runs of rows. Nothing for planes that are neither clipped
/// classes nor bands with one run per row, and if there are too many pairs of classes.
std::optional<Index> differing_blocks(const Plane& a, const Plane& b, Index block);

}  // namespace maskctl
