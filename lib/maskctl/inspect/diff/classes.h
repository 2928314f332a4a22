// Counts the blocks that differ between planes whose rows see shared lists of keys, each cut to a
// range of its own; private to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Returns the number of block x block blocks in which any cell differs, in O((queries + keys) *
/// blocks per row / 64), without visiting the runs of rows. Each row of both planes must see one of
/// a few shared lists of keys, cut to a range, or a single run of keys whose ends follow straight
/// lines. Nothing for other planes, and if there are too many pairs of lists.
std::optional<Index> differing_blocks(const Plane& a, const Plane& b, Index block);

}  // namespace maskctl
