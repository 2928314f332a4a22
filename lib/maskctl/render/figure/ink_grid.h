// A panel as a matrix of inks, one for each cell or block of cells.
#pragma once

#include <vector>

#include "maskctl/render/figure/density.h"
#include "maskctl/render/figure/inks.h"

namespace maskctl {

/// Counts over the part that is drawn, in cells.
struct FigureCounts {
  Index area = 0;
  Index both = 0, only_a = 0, only_b = 0;      // a single mask counts as only_a
  Index leaks = 0, padding = 0;                // open cells that join two documents, or none
  Index full = 0, partial = 0, tile_area = 0;  // for tiles
};

struct InkGrid : GridShape {
  InkSet set = InkSet::kMask;
  bool blocks = false;  // a unit is several cells (for kTiles: several tiles)
  std::vector<std::uint8_t> inks;
  std::vector<Index> open;  // cells that are open in A; empty for tiles
  FigureCounts counts;
  /// Rows that have not been counted yet, which text draws as hatched; empty: none.
  std::vector<bool> unknown;

  std::uint8_t at(Index row, Index column) const { return inks[index(row, column)]; }
  bool is_known(Index row) const { return unknown.empty() || !unknown[as_size(row)]; }
};

/// The finest unit that a grid can have: cells, or tiles of a block map.
struct Units {
  Index rows = 0, columns = 0;
};
Units finest_units(const Figure& figure);

/// The panel in blocks of `step` of the finest units. The cost depends on blocks of the structure
/// (see density.h) or tile runs, never on cells.
InkGrid ink_grid(const Figure& figure, const Panel& panel, BlockSize step);

/// The grid of a mask, in blocks of whole tiles, as the tiles of a kernel: empty, partial or full.
/// Finds them where a plane counts rectangles faster than it lists tiles; their numbers are not
/// known.
InkGrid as_tiles(InkGrid grid, BlockSize tile);

/// Lets every mark cover `radius` units around it, if there are so few that they might be
/// overlooked; marks do not cover each other.
void enlarge_marks(InkGrid& grid, Index radius);

}  // namespace maskctl
