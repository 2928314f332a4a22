// Single cells that differ from their neighbours, which no rule should be bent to fit; private to
// inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// The plane with its lone cells flipped. A cell is lone along a line (its row, column or diagonal)
/// when both neighbours on that line differ from it. Which lines matter depends on the mask:
/// documents end along rows and columns, windows along diagonals. So there are several answers, the
/// strictest first; those without lone cells or with many are left out. Large planes are examined
/// only if they are stored as bands.
std::vector<PlanePtr> without_lone_cells(const PlanePtr& plane);

}  // namespace maskctl::recognition
