// How large a picture is and what it has around its cells; drawn by raster.h, svg.h and html.h.
#pragma once

#include <vector>

#include "maskctl/render/figure/ink_grid.h"

namespace maskctl {

struct PictureOptions {
  /// The most pixels on the longer side of the matrix (2 .. 4096), not counting rulers; panels
  /// beside each other share it. If cells do not fit, a pixel represents a block of them.
  Index max_size = 1024;
  /// Pixels per cell (or block) on each axis; 0 = enlarge small masks to about 512 pixels.
  Index scale = 0;
  Palette palette = Palette::kCividis;  // for masks and tiles; overlays have fixed colours
  bool title = true;                    // title of the figure, captions of its panels
  bool axes = true;                     // rulers and bands of segment ids
  bool legend = true;
};

/// Throws as check_figure(), and Error(kInvalidArgument) for options out of range.
void check_picture(const Figure& figure, const PictureOptions& options);

/// The number of panels beside each other.
Index panels_across(const Figure& figure);

/// The grids of all panels, with blocks of one size. Leaks and differences of only a few pixels are
/// drawn larger, unless there are many. Throws as check_picture().
std::vector<InkGrid> picture_grids(const Figure& figure, const PictureOptions& options);

/// The size in pixels of one unit of a grid.
struct UnitSize {
  Index height = 1, width = 1;
  /// True where units are large enough for lines between them.
  bool lined() const { return std::min(height, width) >= 8; }
};
UnitSize unit_size(const Figure& figure, const GridShape& grid, const PictureOptions& options);

}  // namespace maskctl
