// A panel as a matrix of inks, with one ink for each cell or block of cells. An ink says what the
// cell is, and so how it looks.
#pragma once

#include <vector>

#include "maskctl/render/figure/density.h"
#include "maskctl/render/figure/inks.h"

namespace maskctl {

/// Counts over the part that is drawn, in cells; full, partial and tile_area count tiles.
struct FigureCounts {
  Index area = 0;
  Index both = 0, only_a = 0, only_b = 0;  // open cells; those of a single mask count as only_a
  Index leaks = 0, padding = 0;  // open cells that join two documents, and open cells of padding
  Index full = 0, partial = 0, tile_area = 0;  // tiles, if the panel shows tiles
};

struct InkGrid : GridShape {
  InkSet set = InkSet::kMask;
  bool blocks = false;  // whether a unit is several cells (for kTiles: several tiles)
  std::vector<std::uint8_t> inks;
  std::vector<Index> open;  // for each unit, the cells that are open in A; empty for tiles
  FigureCounts counts;
  /// For each row: whether its cells have not been counted yet; drawings in characters then show it
  /// as hatched. Empty: all rows are counted.
  std::vector<bool> unknown;

  std::uint8_t at(Index row, Index column) const { return inks[index(row, column)]; }
  bool is_known(Index row) const { return unknown.empty() || !unknown[as_size(row)]; }
};

/// How many of the smallest units are drawn: cells, or tiles if the panels show tiles.
struct Units {
  Index rows = 0, columns = 0;
};
Units finest_units(const Figure& figure);

/// The panel in blocks of `step` smallest units. Takes time in proportion to the structure of the
/// plane (see density()) or to the runs of tiles, never to the number of cells.
InkGrid ink_grid(const Figure& figure, const Panel& panel, BlockSize step);

/// Turns the grid of a mask, in blocks of whole tiles, into one that shows the tiles of a kernel:
/// empty, partial or full. This is for planes that count rectangles faster than they list tiles;
/// the counts of tiles stay unknown.
InkGrid as_tiles(InkGrid grid, BlockSize tile);

/// Extends each mark by `radius` units in every direction, if there are so few marks that they
/// might be overlooked. Marks do not cover each other.
void enlarge_marks(InkGrid& grid, Index radius);

}  // namespace maskctl
