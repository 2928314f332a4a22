// Blocks that differ between planes of clipped classes; private to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Blocks of block x block in which any cell differs: O((queries + keys) * blocks a row / 64), with
/// no look at the runs of a row. Nothing for planes that are not clipped classes or bands of one
/// run a row, and for too many pairs of classes.
std::optional<Index> differing_blocks(const Plane& a, const Plane& b, Index block);

}  // namespace maskctl
