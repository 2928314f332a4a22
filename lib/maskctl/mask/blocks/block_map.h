// Masks compiled for kernels: which tiles are full, partial or empty, and the cells of the partial
// ones.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "maskctl/mask/blocks/tile_rows.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// The fill of the tiles of a plane. Tile row t has the non-empty tiles runs[row_offsets[t]] ..
/// runs[row_offsets[t + 1] - 1]. Takes memory for each run of equal tiles, not for each tile.
struct TileMap {
  Index queries = 0, keys = 0, q_tile = 0, k_tile = 0;
  std::vector<Index> row_offsets;
  std::vector<TileRun> runs;

  Index tile_rows() const { return ceil_div(queries, q_tile); }
  Index tile_columns() const { return ceil_div(keys, k_tile); }
  Range queries_of(Index tile_row) const {
    return {tile_row * q_tile, std::min((tile_row + 1) * q_tile, queries)};
  }
  std::span<const TileRun> row(Index tile_row) const;
  /// full() and partial(): the number of full and of partial tiles.
  Index full() const;
  Index partial() const;
  Index empty() const { return tile_rows() * tile_columns() - full() - partial(); }
};
/// Classifies all tiles of a plane. Tiles at the edge may be smaller; they count as full when all
/// their cells are open.
TileMap tile_map(const Plane& plane, Index q_tile, Index k_tile);

/// The tiles of a plane and the cells of its partial tiles ("payloads"), as flat arrays that can be
/// copied to a device unchanged. Equal payloads are stored once, numbered by first appearance.
struct TileTable {
  TileMap tiles;
  std::vector<Index> partial_offsets;  // partial tiles before each tile row, then their total
  std::vector<PayloadId> payloads;     // one per partial tile, row-major
  TilePayloads pools;                  // the payloads; a tile has at most the size of the plane

  TileRow row(Index tile_row) const;
  Index bytes() const;
};
/// Makes the TileTable of a plane. Throws Error(kLimit) as soon as the payloads (the cells of
/// partial tiles) take more than max_bytes: an irregular mask of a million tokens has gigabytes of
/// them. For such masks, use a TileRowReader.
TileTable tile_table(const Plane& plane, Index q_tile, Index k_tile, Index max_bytes);
/// Makes the table of the transposed plane, whose tile rows are blocks of keys: for loops over all
/// queries of some keys. It reads only the given table, in O(tile runs + distinct payloads).
TileTable key_major(const TileTable& table);
/// Computes TileTable::partial_offsets from a map.
std::vector<Index> partial_offsets(const TileMap& map);

/// A plane together with its tile table; cheap to copy.
class BlockMap {
 public:
  static constexpr Index kMaxBytes = Index{1} << 30;
  BlockMap(PlanePtr plane, Index q_tile, Index k_tile, Index max_bytes = kMaxBytes);
  const PlanePtr& plane() const { return plane_; }
  const TileTable& table() const { return *table_; }
  const TileMap& tiles() const { return table_->tiles; }

 private:
  PlanePtr plane_;
  std::shared_ptr<const TileTable> table_;
};

}  // namespace maskctl
