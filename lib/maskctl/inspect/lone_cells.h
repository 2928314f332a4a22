// Single cells that stand against their neighbours: what a rule would have to bend around; private
// to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognising {

/// The plane with its lone cells turned over. A cell is lone along a line (its row, its column, its
/// diagonal) when both neighbours on it differ. Which lines count depends on what the mask is made
/// of: documents end along rows and columns, windows along diagonals. So there are several answers,
/// the strictest first; those with many lone cells, and with none, are left out. Of large planes
/// only those held as bands are looked at.
std::vector<PlanePtr> without_lone_cells(const PlanePtr& plane);

}  // namespace maskctl::recognising
