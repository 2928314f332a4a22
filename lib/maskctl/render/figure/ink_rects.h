// A grid of inks as few rectangles, merged from runs of equal units.
#pragma once

#include <vector>

#include "maskctl/render/figure/ink_grid.h"

namespace maskctl {

/// A rectangle of rows and columns of a grid that have the same ink.
struct InkRect {
  Range rows, columns;
  std::uint8_t ink = 0;
  friend bool operator==(const InkRect&, const InkRect&) = default;
};

/// Returns the grid as rectangles that do not overlap. Units that they do not cover are ink::kNone.
/// Neighbours with equal ink in a row are merged, and then equal runs in consecutive rows. Ordered
/// by first row, then by column.
std::vector<InkRect> grid_rects(const InkGrid& grid);

}  // namespace maskctl
