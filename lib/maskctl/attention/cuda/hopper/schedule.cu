#include "maskctl/attention/cuda/hopper/schedule.h"
#include "maskctl/attention/cuda/launch.cuh"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr int kThreads = 1024;

struct Extent {
  int rows;  // rows of 64 x 64 tiles
  int wide, tile_rows;
};

/// Counts the 64 x 64 tiles that are not empty, and estimates how many 64 x 64 tiles lie in the
/// 128 x 128 tiles that cover them.
__global__ void count_tiles(MaskView mask, int rows, unsigned long long* counts) {
  const TileTableView& table = mask.tables[blockIdx.x];
  unsigned long long tiles = 0, covered = 0;
  for (int r = 2 * static_cast<int>(threadIdx.x); r < rows; r += 2 * kThreads) {
    int most = 0;
    for (int i = r; i < min(r + 2, rows); ++i) {
      int columns = 0, end = 0;
      for (Index n = table.row_begins[i]; n < table.row_ends[i]; ++n) {
        const TileRun run = table.runs[n];
        tiles += run.count;
        const int last = (run.first + run.count + 1) / 2;
        columns += last - max(run.first / 2, end), end = last;
      }
      most = max(most, columns);
    }
    covered += 4 * most;
  }
  atomicAdd(counts, tiles), atomicAdd(counts + 1, covered);
}

/// A block takes one table. A tile row is as long as the longest of its rows of 64 x 64 tiles. Of
/// tile rows of equal length the last comes first, which keeps a causal mask's in the order of
/// their lengths even where tiles at the edge are cut.
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

bool is_mostly_closed(const MaskView& mask, int rows, Stream stream) {
  const DeviceArray<std::uint64_t> counts(std::vector<std::uint64_t>(2), stream);
  auto* const there =
      const_cast<unsigned long long*>(reinterpret_cast<const unsigned long long*>(counts.data()));
  launch("count_tiles", count_tiles, static_cast<unsigned>(mask.count), kThreads, 0, stream, mask,
         rows, there);
  std::uint64_t seen[2];
  copy_to_host(std::as_writable_bytes(std::span(seen)), there, stream);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return 2 * seen[1] > 3 * seen[0];
}

}  // namespace

Schedule::Schedule(const MaskView& mask, Index rows, int wide, bool may_be_fine, Stream stream) {
  Extent extent{static_cast<int>(ceil_div(rows, kTile)), wide, 0};
  is_fine = may_be_fine && is_mostly_closed(mask, extent.rows, stream);
  if (is_fine) extent.wide = 1;
  extent.tile_rows = tile_rows = ceil_div(extent.rows, extent.wide);
  memory = DeviceBuffer(as_size(2 * mask.count * tile_rows) * sizeof(int), stream);
  int* const all = reinterpret_cast<int*>(memory.data());
  launch("rank_tile_rows", rank, static_cast<unsigned>(mask.count), kThreads, 0, stream, mask,
         extent, all, all + mask.count * tile_rows);
}

}  // namespace maskctl::attention::cuda::hopper
