// Masks whose documents end a few tokens earlier or later.
#pragma once

#include <set>

#include "maskctl/inspect/recognise/neighbours.h"

namespace maskctl {

/// Variants of the mask in which one border between documents is moved by a few tokens, as packing
/// that is off by one would move it. Only borders near `queries`, the rows in which something is
/// wrong, are moved. `text` is like "border 130 between documents at 129". Empty if recognise()
/// finds no documents or the mask is too large for it. Cells that no step explains stay as they
/// are.
std::vector<Neighbour> moved_borders(const Mask& mask, const std::set<Index>& queries);

}  // namespace maskctl
