// Masks compiled for kernels: classes of tiles, and the cells of the partial ones.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "maskctl/mask/blocks/tile_rows.h"
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
  Range queries_of(Index tile_row) const {
    return {tile_row * q_tile, std::min((tile_row + 1) * q_tile, queries)};
  }
  std::span<const TileRun> row(Index tile_row) const;
  /// How many tiles are full; the next one: partial.
  Index full() const;
  Index partial() const;
  Index empty() const { return tile_rows() * tile_columns() - full() - partial(); }
};
/// Tiles at the edge may be smaller; they count as full when all their cells are open.
TileMap tile_map(const Plane& plane, Index q_tile, Index k_tile);

/// All tile rows of a plane as flat arrays that a device can copy as they are. Equal payloads are
/// stored once, numbered in order of first appearance.
struct TileTable {
  TileMap tiles;
  std::vector<Index> partial_offsets;  // partial tiles before each tile row; one more at the end
  std::vector<PayloadId> payloads;     // one per partial tile, row-major
  TilePayloads pools;                  // for tiles no larger than the plane

  TileRow row(Index tile_row) const;
  Index bytes() const;
};
/// Throws Error(kLimit) as soon as the payloads are known to take more than max_bytes: an irregular
/// mask of a million tokens has gigabytes of them. Use a TileRowReader for such a mask.
TileTable tile_table(const Plane& plane, Index q_tile, Index k_tile, Index max_bytes);
/// The table of the transposed plane: tile rows of keys against tiles of queries, for walking all
/// queries of some keys. It reads only the given table: O(tile runs + distinct payloads).
TileTable key_major(const TileTable& table);
/// TileTable::partial_offsets.
std::vector<Index> partial_offsets(const TileMap& map);

/// A plane with its table, cheap to copy.
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
