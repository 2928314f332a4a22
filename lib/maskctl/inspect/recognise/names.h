// Writes the moves of a search as steps with arguments; private to inspect.
#pragma once

#include "maskctl/inspect/recognise/search.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// Writes the moves that a search has found as a chain with as few numbers as possible: classes are
/// written as chunks, padding, dilation or contiguous documents if they are no more than that. The
/// moves may differ from `plane` in `allowed` cells; the chain, which is compared with the plane
/// for every choice, differs in no more.
Chain named(const PlanePtr& plane, const Moves& moves, Index allowed);

/// The number of cells in which the chain, applied to an all-open mask, differs from the plane.
Index unexplained_cells(const PlanePtr& plane, const Chain& chain);

}  // namespace maskctl::recognition
