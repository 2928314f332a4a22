// A grid of inks as rectangles, merged from runs instead of one per unit.
#pragma once

#include <vector>

#include "maskctl/render/figure/ink_grid.h"

namespace maskctl {

/// A rectangle of rows and columns of a grid with one ink.
struct InkRect {
  Range rows, columns;
  std::uint8_t ink = 0;
  friend bool operator==(const InkRect&, const InkRect&) = default;
};

/// Rectangles that do not overlap; whatever they do not cover is ink::kNone. Equal neighbours in a
/// row are merged, and so are equal stretches in consecutive rows. Ordered by first row, then by
/// column.
std::vector<InkRect> grid_rects(const InkGrid& grid);

}  // namespace maskctl
