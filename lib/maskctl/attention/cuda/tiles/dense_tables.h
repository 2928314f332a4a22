// Tile tables of dense masks, made on the GPU: the host would read every cell.
#pragma once

#include <cstdint>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/elements.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"

namespace maskctl::attention::cuda {

/// A bit for each cell of planes on the GPU, row-major; rows are whole words, key k is bit k % 64
/// of word k / 64, bits past the last key are 0.
struct BitPlanes {
  Index planes = 0, queries = 0, keys = 0;
  std::uint64_t* words = nullptr;

  constexpr Index words_per_row() const { return ceil_div(keys, 64); }
  constexpr Index size() const { return planes * queries * words_per_row(); }
};

/// Writes the bits of cells on the GPU: integers and bools that are not 0; floats, an additive
/// mask, above `closed_below`.
void pack_cells(const TensorView& cells, double closed_below, const BitPlanes& out, Stream stream);
/// `out` has queries and keys swapped.
void transpose_bits(const BitPlanes& bits, const BitPlanes& out, Stream stream);

/// Lays out the arrays of a table of 64 x 64 tiles in memory of table_bytes().
TileTableView place_table(Index queries, Index keys, std::byte* memory);
std::size_t table_bytes(Index queries, Index keys);
/// Fills a table from its plane; every tile that is not empty is a run of its own.
void classify_plane(const BitPlanes& plane, const TileTableView& table, Stream stream);

}  // namespace maskctl::attention::cuda
