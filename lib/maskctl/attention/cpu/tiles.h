// The tiles of a mask that one block of queries sees.
#pragma once

#include <vector>

#include "maskctl/mask/blocks/block_map.h"

namespace maskctl::attention {

/// A tile of keys in which some query of the block has an open cell. Keys are numbered as in the
/// whole mask, and rows from the first query of the block.
struct KeyTile {
  Range keys;
  bool full = false;
  TileCells cells;  // not set if the tile is full

  /// The range from the first to the last open key of a row; empty if there is none.
  Range span(Index row) const;
  /// Calls f(range) for ascending ranges that make up the closed keys of a row inside `among`.
  template <class F>
  void each_closed(Index row, Range among, F&& f) const;
  /// Sets x[key - among.begin] to `value` for the closed keys of the row inside `among`. May also
  /// set elements after `among`, up to a whole vector. Tile sizes must be multiples of kVector, and
  /// so must among.begin if it is inside the tile.
  void close_row(Index row, Range among, float value, float* x) const;
};

/// The tiles of one block of queries.
class QueryBlock {
 public:
  QueryBlock(Index q_tile, Index k_tile)
      : q_tile_(q_tile), k_tile_(k_tile), reader_(q_tile, k_tile) {}

  /// Reads the tiles of the queries q: from `compiled` if it is a map of this plane with this tile
  /// size, else from the plane. `compiled` may be null.
  void read(const PlanePtr& plane, const BlockMap* compiled, Range q);
  /// The tiles that have an open cell, in ascending order; valid until the next read().
  const std::vector<KeyTile>& tiles() const { return tiles_; }

 private:
  Index q_tile_, k_tile_;
  TileRowReader reader_;
  std::vector<KeyTile> tiles_;
};

inline Range KeyTile::span(Index row) const {
  if (full) return keys;
  const Range open = cells.span(row);
  return {keys.begin + open.begin, keys.begin + open.end};
}

template <class F>
void KeyTile::each_closed(Index row, Range among, F&& f) const {
  const Range inside = intersect(among, keys);
  if (full || inside.empty()) return;
  cells.each_closed(row, {inside.begin - keys.begin, inside.end - keys.begin}, [&](Range closed) {
    f(Range{keys.begin + closed.begin, keys.begin + closed.end});
  });
}

}  // namespace maskctl::attention
