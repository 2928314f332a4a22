// Names and arguments for the moves of a search; private to inspect.
#pragma once

#include "maskctl/inspect/recognise_search.h"
#include "maskctl/mask/step.h"

namespace maskctl::recognising {

/// The moves as a chain with as few numbers as the mask allows: chunks, paddings, dilations and
/// contiguous documents where classes are no more than that. The moves differ from `plane` in
/// `allowed` cells; so does the chain, which every choice is checked for, or in fewer.
Chain named(const PlanePtr& plane, const Moves& moves, Index allowed);

/// Cells in which the chain, applied to an all-open mask, differs from the plane.
Index unexplained_cells(const PlanePtr& plane, const Chain& chain);

}  // namespace maskctl::recognising
