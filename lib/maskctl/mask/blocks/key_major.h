// Transposes tile maps: queries and keys are exchanged.
#pragma once

#include "maskctl/mask/blocks/block_map.h"

namespace maskctl {

/// The tile map of the transposed plane, computed from `map` without reading the plane.
TileMap key_major(const TileMap& map);

}  // namespace maskctl
