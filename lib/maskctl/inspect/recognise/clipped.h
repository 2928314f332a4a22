// Splits planes of shared lists of keys into the lists and the lines that clip them; private to
// inspect.
#pragma once

#include <optional>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// The plane is the result of applying the step to `lines`.
struct ClippedSplit {
  Step shared;     // dilated, doc or block
  PlanePtr lines;  // one run of keys per row, as bands
};

/// True when no search over runs is needed: the shared lists are classes, or the rows of a block
/// grid. O(queries + keys + runs).
bool is_clipped(const Plane& plane);

/// Nothing for planes that are neither clipped classes nor, with `grids`, clipped rows of a block
/// grid, and for clips that few lines do not bound. O(queries + keys + runs + blocks).
std::optional<ClippedSplit> split_clipped(const Plane& plane, bool grids);

}  // namespace maskctl::recognition
