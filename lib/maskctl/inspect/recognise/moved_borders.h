// Masks whose documents end a few tokens earlier or later.
#pragma once

#include <set>

#include "maskctl/inspect/recognise/neighbours.h"

namespace maskctl {

/// The mask with one border between its documents moved by a few tokens, as a packing that is off
/// by one moves it. Only borders near `queries`, rows in which something is wrong, are moved. Texts
/// are like "border 130 between documents at 129". None where recognise() finds no documents, or
/// the mask is too large for it. Cells that no step explains stay as they are.
std::vector<Neighbour> moved_borders(const Mask& mask, const std::set<Index>& queries);

}  // namespace maskctl
