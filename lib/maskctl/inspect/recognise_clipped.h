// Planes of classes that take turns, split into the classes and the lines that clip them; private
// to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/step.h"

namespace maskctl::recognising {

/// The plane is what the step keeps of `lines`.
struct ClippedSplit {
  Step classes;    // dilated or doc
  PlanePtr lines;  // one run of keys a row, held as bands
};

/// O(queries + keys), where a search that looks at runs would take their product. Nothing for
/// planes that are not held as clipped classes, and for clips that few lines do not bound.
std::optional<ClippedSplit> split_classes(const Plane& plane);

}  // namespace maskctl::recognising
