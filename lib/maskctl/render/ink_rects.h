// A grid of colours as rectangles, merged from runs instead of one for each unit.
#pragma once

#include <vector>

#include "maskctl/render/ink_grid.h"

namespace maskctl {

/// Queries q and keys k of one colour.
struct InkRect {
  Range q, k;
  std::uint8_t ink = 0;
  friend bool operator==(const InkRect&, const InkRect&) = default;
};

/// Rectangles that do not overlap; what they do not cover is ink::kNone. Equal neighbours of a row
/// are one, and equal stretches of rows that follow each other. Ordered by their first query, then
/// by key.
std::vector<InkRect> grid_rects(const InkGrid& grid);

}  // namespace maskctl
