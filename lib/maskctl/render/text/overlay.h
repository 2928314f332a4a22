// Draws the cells of two planes over each other, in characters.
#pragma once

#include "maskctl/render/text/draw.h"

namespace maskctl {

/// Two characters for each rectangle of `grid` (which is of the plane, A), by the rule of
/// DrawOptions::other. options.style is kAscii or kShade.
Canvas draw_overlay_cells(const Plane& plane, const DensityGrid& grid, const DrawOptions& options);

}  // namespace maskctl
