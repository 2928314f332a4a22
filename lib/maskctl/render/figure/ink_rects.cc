#include "maskctl/render/figure/ink_rects.h"

#include <algorithm>

#include "maskctl/base/work_scope.h"

namespace maskctl {
namespace {

/// Appends the runs of equal ink in one row of units, without kNone.
void row_stretches(const InkGrid& grid, Index row, std::vector<InkRect>& out) {
  for (Index c = 0; c < grid.columns; ++c) {
    const std::uint8_t number = grid.at(row, c);
    if (number == ink::kNone) continue;
    const Range columns{c, c + 1};
    if (!out.empty() && out.back().ink == number && out.back().columns.end == c) {
      out.back().columns.end = c + 1;
    } else {
      out.push_back({{row, row + 1}, columns, number});
    }
  }
}

}  // namespace

std::vector<InkRect> grid_rects(const InkGrid& grid) {
  std::vector<InkRect> out, row;
  // Indices in `out` of the rectangles that end at the row above (`open`) and of those that end at
  // this row (`grown`), from left to right.
  std::vector<std::size_t> open, grown;
  const StopPoll poll;
  for (Index r = 0; r < grid.rows; ++r) {
    poll();
    row.clear();
    row_stretches(grid, r, row);
    grown.clear();
    auto above = open.begin();
    for (const InkRect& stretch : row) {
      while (above != open.end() && out[*above].columns.begin < stretch.columns.begin) ++above;
      const bool grows = above != open.end() && out[*above].columns == stretch.columns &&
                         out[*above].ink == stretch.ink;
      if (grows) out[*above].rows.end = stretch.rows.end;
      grown.push_back(grows ? *above : out.size());
      if (!grows) out.push_back(stretch);
    }
    open.swap(grown);
  }
  return out;
}

}  // namespace maskctl
