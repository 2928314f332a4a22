// Splits planes whose rows share lists of keys into these lists and the lines that clip them;
// private to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// Applying `shared` to `lines` gives the plane.
struct ClippedSplit {
  Step shared;     // a dilated, doc or block step
  PlanePtr lines;  // one run of keys per row, as bands
};

/// True if the rows share lists of keys that are classes or the rows of a block grid, so that no
/// search over runs is needed. O(queries + keys + runs).
bool is_clipped(const Plane& plane);

/// Splits clipped classes and, with `grids`, the clipped rows of a block grid. Nothing for other
/// planes, and if the clips are not bounded by few lines. O(queries + keys + runs + blocks).
std::optional<ClippedSplit> split_clipped(const Plane& plane, bool grids);

}  // namespace maskctl::recognition
