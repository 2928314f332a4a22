// Planes of shared lists of keys, split into the lists and the lines that clip them; private to
// inspect.
#pragma once

#include <optional>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/step.h"

namespace maskctl::recognising {

/// The plane is what the step keeps of `lines`.
struct ClippedSplit {
  Step shared;     // dilated, doc or block
  PlanePtr lines;  // one run of keys a row, held as bands
};

/// Whether a search that looks at runs is spared: shared lists of keys that are classes or the rows
/// of a block grid. O(queries + keys + runs).
bool is_clipped(const Plane& plane);

/// Nothing for planes that are not held as clipped classes, nor, with `grids`, as clipped rows of a
/// block grid, and for clips that few lines do not bound. O(queries + keys + runs + blocks).
std::optional<ClippedSplit> split_clipped(const Plane& plane, bool grids);

}  // namespace maskctl::recognising
