// A plane that knows how many cells of its large blocks are open.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

/// A plane of the same cells that keeps counts of blocks. These are 64, 128, ... cells long, at
/// most 1024 along each axis; counting in rectangles whose borders are borders of blocks no longer
/// reads the plane, everything else does. Reads the plane once, in parallel; holds 8 bytes for each
/// block. For planes that are counted again and again in other rectangles, such as a dense mask
/// that someone looks at.
PlanePtr with_tile_counts(const PlanePtr& plane);

}  // namespace maskctl
