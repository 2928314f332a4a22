// A picture as pixels with a palette, including rulers, segment ids and the legend.
#pragma once

#include <vector>

#include "maskctl/render/picture/picture.h"

namespace maskctl {

/// pixels[y * width + x] is an index into the palette (at most 256 colours).
struct Raster {
  Index width = 0, height = 0;
  std::vector<Rgb> palette;
  std::vector<std::uint8_t> pixels;

  std::uint8_t& pixel(Index x, Index y) { return pixels[as_size(y * width + x)]; }
  Rgb at(Index x, Index y) const { return palette[pixels[as_size(y * width + x)]]; }
};

/// Only the cells: grid.columns * unit.width x grid.rows * unit.height pixels.
Raster draw_cells_raster(const InkGrid& grid, Palette palette, UnitSize unit);

/// The whole picture. A matrix without cells is drawn as "(empty)". Throws what check_picture()
/// throws.
Raster draw_raster(const Figure& figure, const PictureOptions& options);

}  // namespace maskctl
