// Rows by matrix, cut into tiles.
#include <algorithm>

#include "maskctl/attention/cuda/grouped/grouped_product.h"

namespace maskctl::attention::cuda {

GroupedPlan::GroupedPlan(const GroupedProblem& problem, Stream stream) {
  const RowGroups& groups = problem.groups;
  rows_.reserve(as_size(groups.rows));
  std::vector<char> has_matrix(as_size(groups.rows));
  for_each_row(groups, [&](Index, Index row) {
    rows_.push_back(row);
    has_matrix[as_size(row)] = 1;
  });
  Index end = 0;
  for (Index g = 0; g < groups.matrices(); ++g) {
    ranges_.push_back({end, end + groups.positions[as_size(g)].size()});
    end = ranges_.back().end;
    cut_into_tiles(g, ranges_.back());
  }
  for (Index row = 0; row < groups.rows; ++row) {
    if (!has_matrix[as_size(row)]) rows_.push_back(row);
  }
  cut_into_tiles(-1, {end, groups.rows});
  device_rows_ = {rows_, stream};
  device_ranges_ = {ranges_, stream};
  device_tiles_ = {tiles_, stream};
}

void GroupedPlan::cut_into_tiles(Index matrix, Range range) {
  for (Index begin = range.begin; begin < range.end; begin += kTileRows) {
    tiles_.push_back({matrix, {begin, std::min(begin + kTileRows, range.end)}});
  }
}

}  // namespace maskctl::attention::cuda
