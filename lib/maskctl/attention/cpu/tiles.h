// The tiles of a mask that one block of queries sees.
#pragma once

#include <vector>

#include "maskctl/mask/blocks/block_map.h"

namespace maskctl::attention {

/// A tile of keys that some query of the block sees. Keys are those of the whole mask, rows are
/// numbers within the block.
struct KeyTile {
  Range keys;
  bool full = false;
  TileCells cells;  // set unless the tile is full

  /// From the first to the last open key of a row; empty without any.
  Range span(Index row) const;
  /// Calls f(range) for ascending ranges that together are the closed keys of a row inside `among`.
  template <class F>
  void each_closed(Index row, Range among, F&& f) const;
  /// Sets x[key - among.begin] to `value` for the row's closed keys inside `among`. Elements after
  /// `among`, up to a whole vector, may be set too. The sizes of tiles are multiples of kVector,
  /// and so is among.begin where it lies in the tile.
  void close_row(Index row, Range among, float value, float* x) const;
};

/// The tiles of a block of queries.
class QueryBlock {
 public:
  QueryBlock(Index q_tile, Index k_tile)
      : q_tile_(q_tile), k_tile_(k_tile), reader_(q_tile, k_tile) {}

  /// Reads the block of queries q from the table of `compiled` where that is a map of this plane
  /// with these tiles, else from the plane. `compiled` may be null.
  void read(const PlanePtr& plane, const BlockMap* compiled, Range q);
  /// The tiles that are not empty, ascending; valid until the next read().
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
