// The contents of partial tiles, in a form that can be compared and hashed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::lazy {

/// The cells of one tile. Tiles of equal size have equal contents exactly if they have the same
/// cells, whatever plane they come from. Each group of equal adjacent rows is stored as: number of
/// rows, number of runs, the runs. If the bits take less space, it is stored as: number of rows,
/// -1, the bits.
using TileContent = std::vector<std::int32_t>;

/// Returns the contents of the tiles that the rows q have in the tile columns `columns`, which must
/// ascend. Reads the rows once.
std::vector<TileContent> tile_contents(const Plane& plane, Range q, Index key_tile,
                                       std::span<const std::int32_t> columns);

}  // namespace maskctl::lazy
