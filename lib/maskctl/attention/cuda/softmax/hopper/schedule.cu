#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/softmax/hopper/schedule.h"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr int kThreads = 1024;

struct Extent {
  int rows;  // rows of 64 x 64 tiles
  int wide, tile_rows;
};

/// Each block ranks the tile rows of one table by length. The length of a tile row is that of the
/// longest of its rows of 64 x 64 tiles. Of tile rows of equal length the last comes first, since
/// under a causal mask its queries see the most keys.
__global__ void rank(MaskView mask, Extent extent, int* order, int* lengths) {
  const TileTableView& table = mask.tables[blockIdx.x];
  const auto [rows, wide, tile_rows] = extent;
  order += Index{blockIdx.x} * tile_rows, lengths += Index{blockIdx.x} * tile_rows;
  for (int t = static_cast<int>(threadIdx.x); t < tile_rows; t += kThreads) {
    int longest = 0;
    for (int r = t * wide; r < min((t + 1) * wide, rows); ++r) {
      int tiles = 0;
      for (Index i = table.row_begins[r]; i < table.row_ends[r]; ++i) tiles += table.runs[i].count;
      longest = max(longest, tiles);
    }
    lengths[t] = longest;
  }
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x); t < tile_rows; t += kThreads) {
    int before = 0;
    for (int u = 0; u < tile_rows; ++u) {
      before += lengths[u] > lengths[t] || (lengths[u] == lengths[t] && u > t) ? 1 : 0;
    }
    order[before] = t;
  }
}

int tile_rows_of(Index rows, int wide) {
  return static_cast<int>(ceil_div(rows, Index{kTile} * wide));
}

}  // namespace

/// Writes to `memory` the order of the tile rows of all tables, then their lengths.
TileRowOrder::TileRowOrder(const MaskView& mask, Index mask_rows, int wide, int* memory,
                           Stream stream)
    : rows(memory), tile_rows(tile_rows_of(mask_rows, wide)) {
  launch("rank_tile_rows", rank, static_cast<unsigned>(mask.count), kThreads, 0, stream, mask,
         Extent{static_cast<int>(ceil_div(mask_rows, kTile)), wide, tile_rows}, memory,
         memory + mask.count * tile_rows);
}
Index TileRowOrder::ints(const MaskView& mask, Index rows, int wide) {
  return 2 * mask.count * tile_rows_of(rows, wide);
}

}  // namespace maskctl::attention::cuda::hopper
