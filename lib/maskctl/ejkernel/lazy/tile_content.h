// The contents of partial tiles, in forms that can be compared and hashed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::lazy {

/// The cells of one tile. Two contents are equal exactly when the tiles (of one size) hold the same
/// cells, whatever planes they come from. Each group of equal neighbouring rows is stored as:
/// number of rows, number of runs, the runs; or number of rows, -1, the bits, if the bits take less
/// space.
using TileContent = std::vector<std::int32_t>;

/// The contents of the tiles `columns` (ascending) of the rows q, from one pass over the rows.
std::vector<TileContent> tile_contents(const Plane& plane, Range q, Index key_tile,
                                       std::span<const std::int32_t> columns);

}  // namespace maskctl::lazy
