// Sorts the rows of a grouped product by the matrix that multiplies them, and cuts them into tiles.
#include <algorithm>
#include <functional>
#include <numeric>

#include "maskctl/attention/cuda/grouped/grouped_product.h"

namespace maskctl::attention::cuda {
namespace {

/// Returns the rows sorted by their matrix, followed by all rows without a matrix.
std::vector<Index> sorted_rows(const RowGroups& groups) {
  std::vector<Index> rows;
  rows.reserve(as_size(groups.rows));
  std::vector<char> has_matrix(as_size(groups.rows));
  for_each_row(groups, [&](Index, Index row) {
    rows.push_back(row);
    has_matrix[as_size(row)] = 1;
  });
  for (Index row = 0; row < groups.rows; ++row) {
    if (!has_matrix[as_size(row)]) rows.push_back(row);
  }
  return rows;
}

/// Moves the ranges so that the first begins at 0 and each next one where the one before ends.
std::vector<Range> packed(std::vector<Range> ranges) {
  Index end = 0;
  for (Range& range : ranges) {
    range = {end, end + range.size()};
    end = range.end;
  }
  return ranges;
}

/// Cuts a matrix's range of rows into tiles of up to `size` rows, and appends these to `tiles`.
void cut(Index matrix, Range range, Index size, std::vector<RowTile>& tiles) {
  for (Index begin = range.begin; begin < range.end; begin += size) {
    tiles.push_back({matrix, {begin, std::min(begin + size, range.end)}});
  }
}

}  // namespace

GroupedPlan::GroupedPlan(const GroupedProblem& problem, Stream stream) {
  const RowGroups& groups = problem.groups;
  if (groups.order.empty()) {
    rows_.resize(as_size(groups.rows));
    std::iota(rows_.begin(), rows_.end(), Index{0});
    ranges_ = groups.positions;
  } else {
    rows_ = sorted_rows(groups);
    ranges_ = packed(groups.positions);
  }
  is_in_order_ = std::ranges::is_sorted(rows_);
  Range held;
  for (Index g = 0; g < matrices(); ++g) {
    const Range range = ranges_[as_size(g)];
    held = hull(held, range);
    cut(g, range, kTileRows, tiles_);
    cut(g, range, kLargeTileRows, large_tiles_);
    if (large_tiles_.size() % 2 != 0) large_tiles_.push_back({g, {range.end, range.end}});
    by_size_.push_back({g, range});
  }
  tiles_with_matrix_ = tile_count();
  cut(-1, {0, held.begin}, kTileRows, tiles_);
  cut(-1, {held.end, groups.rows}, kTileRows, tiles_);
  std::ranges::stable_sort(by_size_, std::greater<>(),
                           [](const RowTile& tile) { return tile.range.size(); });
  device_rows_ = {rows_, stream};
  device_ranges_ = {ranges_, stream};
  device_tiles_ = {tiles_, stream};
  device_large_tiles_ = {large_tiles_, stream};
  device_by_size_ = {by_size_, stream};
}

}  // namespace maskctl::attention::cuda
