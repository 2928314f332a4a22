// Planes of a mask with equal cells, however they are stored.
#pragma once

#include <cstddef>
#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// For each of mask.distinct(), the index of the first one with the same cells: planes that were
/// made apart may be equal. Counts each plane once, and compares only planes of equal counts.
std::vector<std::size_t> first_equal_planes(const Mask& mask);

/// How many planes of a mask differ from each other.
Index different_planes(const Mask& mask);

}  // namespace maskctl
