// Single cells that differ from their neighbours, which no rule should be bent to fit; private to
// inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// Variants of the plane with its lone cells flipped. A cell is lone along a line (its row, column
/// or diagonal) if both neighbours on that line differ from it. Which lines matter depends on the
/// mask: documents end along rows and columns, windows along diagonals. So each set of lines gives
/// a variant, the strictest set first; sets with no lone cells or with many are left out. Large
/// planes are examined only if they are stored as bands.
std::vector<PlanePtr> without_lone_cells(const PlanePtr& plane);

}  // namespace maskctl::recognition
