// A picture as a matrix of colour indices, one for each cell or block of cells.
#pragma once

#include <vector>

#include "maskctl/render/figure/inks.h"

namespace maskctl {

/// The open cells in the whole picture.
struct PictureCounts {
  Index area = 0;
  Index both = 0, only_a = 0, only_b = 0;      // a single mask counts as only_a
  Index full = 0, partial = 0, tile_area = 0;  // for tiles
};

/// Unit (r, c) covers queries [r * q_step, + q_step) and keys [c * k_step, + k_step), cut off at
/// the end.
struct InkGrid {
  InkSet set = InkSet::kMask;
  Index queries = 0, keys = 0;
  Index q_step = 1, k_step = 1;  // in cells
  Index rows = 0, columns = 0;
  bool blocks = false;  // a unit is several cells (for kTiles: several tiles)
  std::vector<std::uint8_t> inks;
  PictureCounts counts;

  std::uint8_t at(Index row, Index column) const {
    return inks[static_cast<std::size_t>(row * columns + column)];
  }
};

/// At most max_rows x max_columns units. The cost depends on blocks of the structure (see
/// density.h) or tile runs, never on cells. Blocks have the smallest size 2^n or 3 * 2^n that fits,
/// equal on both axes unless the shorter axis would get too few units.
InkGrid ink_grid(const PictureInput& input, Index max_rows, Index max_columns);

}  // namespace maskctl
