// How large a picture is, and what is around its cells; raster.h and svg.h draw it.
#pragma once

#include <vector>

#include "maskctl/render/figure/ink_grid.h"

namespace maskctl {

/// How to draw a picture. A page (page/page.h), which zooms, uses only the palette.
struct PictureOptions {
  /// The most pixels (2 .. 4096) on the longer side of the matrix, without rulers; panels next to
  /// each other share them. If the cells do not fit, a pixel stands for a block of cells.
  Index max_size = 1024;
  /// Pixels per cell (or block) on each axis; 0: small masks are enlarged to about 512 pixels.
  Index scale = 0;
  Palette palette = Palette::kCividis;  // for masks and tiles; overlays have fixed colours
  bool title = true;  // whether to draw the title of the figure and the captions of its panels
  bool axes = true;   // whether to draw rulers and bands of segment ids
  bool legend = true;
};

/// Throws what check_figure() throws, and Error(kInvalidArgument) for options out of range.
void check_picture(const Figure& figure, const PictureOptions& options);

/// The number of panels next to each other.
Index panels_across(const Figure& figure);

/// The grids of all panels, with the same block size. Leaks and differences of only a few pixels
/// are enlarged, unless there are many. Throws what check_picture() throws.
std::vector<InkGrid> picture_grids(const Figure& figure, const PictureOptions& options);

/// The size in pixels of one unit of a grid.
struct UnitSize {
  Index height = 1, width = 1;
  /// Whether units are large enough for lines between them.
  bool lined() const { return std::min(height, width) >= 8; }
};
UnitSize unit_size(const Figure& figure, const GridShape& grid, const PictureOptions& options);

}  // namespace maskctl
