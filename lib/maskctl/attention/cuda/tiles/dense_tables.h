// Tile tables of dense masks, made on the GPU because the host would have to read every cell.
#pragma once

#include <cstdint>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/elements.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"

namespace maskctl::attention::cuda {

/// One bit for each cell of planes on the GPU, row-major. Rows are whole words: key k is bit k % 64
/// of word k / 64, and bits past the last key are 0.
struct BitPlanes {
  Index planes = 0, queries = 0, keys = 0;
  std::uint64_t* words = nullptr;

  constexpr Index words_per_row() const { return ceil_div(keys, 64); }
  constexpr Index size() const { return planes * queries * words_per_row(); }
};

/// Writes the bits of cells on the GPU. A bit is 1 where an integer or bool is not 0, or where a
/// float, which belongs to an additive mask, is above `closed_below`.
void pack_cells(const TensorView& cells, double closed_below, const BitPlanes& out, Stream stream);
/// Transposes planes: the queries of `out` are the keys of `bits`, and its keys are the queries.
void transpose_bits(const BitPlanes& bits, const BitPlanes& out, Stream stream);

/// Places the arrays of a table of 64 x 64 tiles in `memory`, which has table_bytes() bytes.
TileTableView place_table(Index queries, Index keys, std::byte* memory);
std::size_t table_bytes(Index queries, Index keys);
/// Fills a table from its plane. Every tile that is not empty becomes a run of its own.
void classify_plane(const BitPlanes& plane, const TileTableView& table, Stream stream);
/// Writes the TileRowSize of each tile row of all tables of a mask, [tables, tile_rows].
void measure_rows(const MaskView& mask, Index tile_rows, TileRowSize* sizes, Stream stream);

}  // namespace maskctl::attention::cuda
