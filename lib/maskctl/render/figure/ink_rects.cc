#include "maskctl/render/figure/ink_rects.h"

#include <algorithm>

#include "maskctl/base/work_scope.h"

namespace maskctl {
namespace {

/// The coloured stretches of one row of units.
void row_stretches(const InkGrid& grid, Index row, std::vector<InkRect>& out) {
  const Range q{row * grid.q_step, std::min((row + 1) * grid.q_step, grid.queries)};
  for (Index c = 0; c < grid.columns; ++c) {
    const std::uint8_t number = grid.at(row, c);
    if (number == ink::kNone) continue;
    const Range k{c * grid.k_step, std::min((c + 1) * grid.k_step, grid.keys)};
    if (!out.empty() && out.back().ink == number && out.back().k.end == k.begin) {
      out.back().k.end = k.end;
    } else {
      out.push_back({q, k, number});
    }
  }
}

}  // namespace

std::vector<InkRect> grid_rects(const InkGrid& grid) {
  std::vector<InkRect> out, row;
  std::vector<std::size_t> open, grown;  // rectangles that extend to the row above, ascending
  const StopPoll poll;
  for (Index r = 0; r < grid.rows; ++r) {
    poll();
    row.clear();
    row_stretches(grid, r, row);
    grown.clear();
    auto above = open.begin();
    for (const InkRect& stretch : row) {
      while (above != open.end() && out[*above].k.begin < stretch.k.begin) ++above;
      const bool grows =
          above != open.end() && out[*above].k == stretch.k && out[*above].ink == stretch.ink;
      if (grows) out[*above].q.end = stretch.q.end;
      grown.push_back(grows ? *above : out.size());
      if (!grows) out.push_back(stretch);
    }
    open.swap(grown);
  }
  return out;
}

}  // namespace maskctl
