// Masks compiled for kernels: classes of tiles, and payloads of the partial ones.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// The tile classes of a plane: runs[row_offsets[t] .. row_offsets[t + 1]) are the non-empty tiles
/// of tile row t. Costs O(tile runs), never O(tiles).
struct TileMap {
  Index queries = 0, keys = 0, q_tile = 0, k_tile = 0;
  std::vector<Index> row_offsets;
  std::vector<TileRun> runs;

  Index tile_rows() const { return ceil_div(queries, q_tile); }
  Index tile_columns() const { return ceil_div(keys, k_tile); }
  /// How many tiles are full; the next one: partial.
  Index full() const;
  Index partial() const;
  Index empty() const { return tile_rows() * tile_columns() - full() - partial(); }
};
/// Tiles at the edge may be smaller; they count as full when all their cells are open.
TileMap tile_map(const Plane& plane, Index q_tile, Index k_tile);

/// A partial tile in which each row has at most one run: keys [begin, end) of each row, relative to
/// the tile; 0, 0 = none.
struct TileIntervals {
  std::vector<Run> rows;
  friend bool operator==(const TileIntervals&, const TileIntervals&) = default;
};
/// Any other partial tile: row-major bits, ceil(k_tile / 64) words per row.
struct TileBits {
  std::vector<std::uint64_t> words;
  friend bool operator==(const TileBits&, const TileBits&) = default;
};
using TilePayload = std::variant<TileIntervals, TileBits>;

/// The form that kernels read. A payload is made when it is read (`payload`), never stored: all
/// partial tiles of 1M interleaved ids would take gigabytes.
class BlockMap {
 public:
  BlockMap(PlanePtr plane, Index q_tile, Index k_tile);
  const TileMap& tiles() const { return tiles_; }
  const PlanePtr& plane() const { return plane_; }
  TilePayload payload(Index tile_row, Index tile_column) const;

 private:
  PlanePtr plane_;
  TileMap tiles_;
};

}  // namespace maskctl
