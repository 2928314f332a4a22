// How kernels read tile tables.
#pragma once

#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/tiles/device_tiles.h"

namespace maskctl::attention::cuda {

/// The index in MaskView::tables of the tile table of batch entry b and head h.
__device__ inline std::uint32_t table_number(const MaskView& mask, Index b, Index h) {
  return mask.table_of[(mask.batch == 1 ? 0 : b) * mask.heads + (mask.heads == 1 ? 0 : h)];
}
__device__ inline const TileTableView& table_of(const MaskView& mask, Index b, Index h) {
  return mask.tables[table_number(mask, b, h)];
}

/// One tile of a tile row: its number, and what it opens.
struct Tile {
  Index number;
  bool is_full;
  PayloadId payload;  // set only for a partial tile
};

/// Calls f(tile) for each tile of a tile row that is not empty, in ascending order, which is the
/// same for every thread.
template <class F>
__device__ void for_each_tile(const TileTableView& table, Index tile_row, F&& f) {
  Index partial = table.partial_offsets[tile_row];
  for (Index r = table.row_begins[tile_row]; r < table.row_ends[tile_row]; ++r) {
    const TileRun run = table.runs[r];
    const bool is_full = run.fill == Fill::kFull;
    for (Index t = run.first; t < Index{run.first} + run.count; ++t) {
      f(Tile{t, is_full, is_full ? PayloadId{0} : table.payloads[partial++]});
    }
  }
}

/// The columns that row `row` of a tile opens, as bits. `rows` and `columns`: how many of the
/// tile's rows and columns exist.
__device__ inline std::uint64_t open_columns(const TileTableView& table, const Tile& tile, int row,
                                             int rows, int columns) {
  if (row >= rows) return 0;
  if (tile.is_full) return bits_between(0, columns);
  if (tile.payload < 0) {
    return table.words[Index{~tile.payload} * table.payload_rows * table.words_per_row +
                       Index{row} * table.words_per_row];
  }
  const Run open = table.intervals[Index{tile.payload} * table.payload_rows + row];
  return bits_between(open.begin, open.end);
}

}  // namespace maskctl::attention::cuda
