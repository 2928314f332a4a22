// A plane with stored counts of the open cells in its large blocks.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

/// A plane with the same cells, and with the number of open cells stored for each block. Blocks
/// have 64, 128, ... cells per side, so that there are at most 1024 along each axis. Counts of
/// rectangles that end at borders of blocks no longer read the plane; everything else does.
/// Building it reads the plane once, in parallel, and takes 8 bytes per block. For planes in which
/// many rectangles are counted, such as a dense mask in a viewer.
PlanePtr with_tile_counts(const PlanePtr& plane);

}  // namespace maskctl
