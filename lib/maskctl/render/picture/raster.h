// A picture as pixels with a palette, including rulers, segment ids and legend.
#pragma once

#include <vector>

#include "maskctl/render/figure/ink_grid.h"

namespace maskctl {

/// pixels[y * width + x] is an index into the palette (at most 256 colours).
struct Raster {
  Index width = 0, height = 0;
  std::vector<Rgb> palette;
  std::vector<std::uint8_t> pixels;

  Rgb at(Index x, Index y) const {
    return palette[pixels[static_cast<std::size_t>(y * width + x)]];
  }
};

/// The size in pixels of one unit of a grid.
struct UnitSize {
  Index height = 1, width = 1;
};
UnitSize unit_size(const InkGrid& grid, const PictureOptions& options);

/// Only the matrix: grid.columns * unit.width x grid.rows * unit.height pixels.
Raster draw_cells_raster(const InkGrid& grid, Palette palette, UnitSize unit);

/// The whole picture. A matrix without cells is drawn as "(empty)". Throws as check_picture().
Raster draw_raster(const PictureInput& input, const PictureOptions& options);

}  // namespace maskctl
