#include "maskctl/attention/cuda/softmax/hopper/schedule.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace maskctl::attention::cuda::hopper {
namespace {

/// Whether tiles of 128 x 128 would be a waste: of the 64 x 64 tiles inside those that have an open
/// cell, more than a third would be closed. This is estimated from the `sizes` of the rows of
/// 64 x 64 tiles.
bool is_mostly_closed(const std::vector<TileRowSize>& sizes, Index rows) {
  Index tiles = 0, covered = 0;
  for (std::size_t first = 0; first < sizes.size(); first += as_size(rows)) {
    const auto table = std::span(sizes).subspan(first, as_size(rows));
    for (std::size_t r = 0; r < table.size(); ++r) {
      tiles += table[r].tiles;
      if (r % 2 == 0) {
        covered += 4 * std::max(table[r].pairs, r + 1 < table.size() ? table[r + 1].pairs : 0);
      }
    }
  }
  return 2 * covered > 3 * tiles;
}

/// Sorts the tile rows of a table by length, the longest first. Of tile rows of equal length the
/// last comes first, since under a causal mask its queries see the most keys.
void sort_rows(std::span<const int> lengths, std::span<int> order) {
  if (lengths.empty()) return;
  const int longest = std::ranges::max(lengths);
  // Where the next tile row of each length goes in `order`; the index is longest - length.
  std::vector<int> next(as_size(longest) + 2);
  for (const int length : lengths) ++next[as_size(longest - length) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (int t = static_cast<int>(lengths.size()) - 1; t >= 0; --t) {
    order[as_size(next[as_size(longest - lengths[as_size(t)])]++)] = t;
  }
}

}  // namespace

Schedule::Schedule(const DeviceTiles& tiles, TileOrder tile_order, int wide, bool may_be_fine,
                   Stream stream) {
  const std::vector<TileRowSize>& sizes = tiles.sizes(tile_order);
  const Index tables = tiles.view(tile_order).count;
  const Index rows = tables == 0 ? 0 : std::ssize(sizes) / tables;
  order.is_fine = may_be_fine && is_mostly_closed(sizes, rows);
  if (order.is_fine) wide = 1;
  const int tile_rows = static_cast<int>(ceil_div(rows, Index{wide}));
  lengths.resize(as_size(tables * tile_rows));
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    const Index table = static_cast<Index>(n) / rows, row = static_cast<Index>(n) % rows;
    int& length = lengths[as_size(table * tile_rows + row / wide)];
    length = std::max(length, sizes[n].tiles);
  }
  std::vector<int> all(2 * lengths.size());
  std::ranges::copy(lengths, all.begin() + std::ssize(lengths));
  for (std::size_t first = 0; first < lengths.size(); first += as_size(tile_rows)) {
    sort_rows(std::span(lengths).subspan(first, as_size(tile_rows)),
              std::span(all).subspan(first, as_size(tile_rows)));
  }
  memory = {all, stream};
  order.rows = memory.data(), order.tile_rows = tile_rows;
}

}  // namespace maskctl::attention::cuda::hopper
