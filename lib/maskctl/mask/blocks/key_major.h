// Tile maps with queries and keys exchanged.
#pragma once

#include "maskctl/mask/blocks/block_map.h"

namespace maskctl {

/// The map of the transposed plane, from the given one alone.
TileMap key_major(const TileMap& map);

}  // namespace maskctl
