#include "maskctl/attention/cuda/hopper/schedule.h"

#include "maskctl/attention/cuda/launch.cuh"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr int kThreads = 1024;

/// A block takes one table. Tile rows of one length: the last first, which keeps a causal mask's in
/// the order of their lengths also where tiles at the edge are cut.
__global__ void rank(MaskView mask, int rows, int wide, int tile_rows, int* order, int* lengths) {
  const TileTableView& table = mask.tables[blockIdx.x];
  order += Index{blockIdx.x} * tile_rows, lengths += Index{blockIdx.x} * tile_rows;
  for (int t = static_cast<int>(threadIdx.x); t < tile_rows; t += kThreads) {
    int tiles = 0;
    for (int r = t * wide; r < min((t + 1) * wide, rows); ++r) {
      for (Index i = table.row_begins[r]; i < table.row_ends[r]; ++i) tiles += table.runs[i].count;
    }
    lengths[t] = tiles;
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

}  // namespace

Schedule::Schedule(const MaskView& mask, Index rows, int wide, Stream stream)
    : tile_rows(static_cast<int>(ceil_div(rows, kTile * Index{wide}))),
      memory(as_size(2 * mask.count * tile_rows) * sizeof(int), stream) {
  int* const all = reinterpret_cast<int*>(memory.data());
  launch("rank_tile_rows", rank, static_cast<unsigned>(mask.count), kThreads, 0, stream, mask,
         static_cast<int>(ceil_div(rows, kTile)), wide, tile_rows, all,
         all + mask.count * tile_rows);
}

}  // namespace maskctl::attention::cuda::hopper
