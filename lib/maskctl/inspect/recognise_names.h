// Names and arguments for the moves of a search; private to inspect.
#pragma once

#include "maskctl/inspect/recognise_search.h"
#include "maskctl/mask/step.h"

namespace maskctl {

/// The moves as a chain with as few numbers as the mask allows: chunks, paddings, dilations and
/// contiguous documents where classes are no more than that. Of an exact explanation the chain
/// gives `plane` exactly, which every choice is checked for; of another one each move is spelled
/// out.
Chain named(const PlanePtr& plane, const Moves& moves, bool exact);

/// How much there is to read in a chain: numbers, and something for each step.
Index cost(const Chain& chain);

/// Cells in which the chain, applied to an all-open mask, differs from the plane.
Index unexplained_cells(const PlanePtr& plane, const Chain& chain);

}  // namespace maskctl
