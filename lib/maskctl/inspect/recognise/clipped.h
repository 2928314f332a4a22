// Splits planes whose rows share lists of keys into these lists and the lines that clip them;
// private to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// A plane in two parts: applying the step `shared` to the plane `lines` gives it.
struct ClippedSplit {
  Step shared;     // a dilated, doc or block step
  PlanePtr lines;  // one run of keys per row, as bands
};

/// True if each row sees one of a few shared lists of keys, cut to a range of its own, and no key
/// is in two lists (classes), or the lists are the rows of a block grid. Then no search over runs
/// is needed. Takes O(queries + keys + runs).
bool is_clipped(const Plane& plane);

/// Splits a plane whose rows see shared lists of keys (classes or, with `grids`, rows of a block
/// grid), each cut to a range. Nothing for other planes, and if the ranges are not bounded by few
/// lines. Takes O(queries + keys + runs + blocks).
std::optional<ClippedSplit> split_clipped(const Plane& plane, bool grids);

}  // namespace maskctl::recognition
