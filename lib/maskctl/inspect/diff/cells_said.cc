#include "maskctl/inspect/diff/cells_said.h"

#include <fmt/format.h>

#include "maskctl/base/grouped.h"

namespace maskctl {

Residue all_differences(const Mask& a, const Mask& b, const MaskDiff& found) {
  Residue out;
  out.cells = found.only_a + found.only_b;
  Index from = found.first->query;
  for (const PlaneDiff& plane : found.planes) {
    const PlanePtr& in_a = a.plane(plane.batch, plane.head);
    const PlanePtr& in_b = b.plane(plane.batch, plane.head);
    list_differences(*in_a, *in_b, {from, in_a->queries()}, plane.batch, plane.head, out.first);
    if (out.first.size() == Residue::kListed) break;
    from = 0;
  }
  return out;
}

bool is_open_in(const Mask& mask, const Cell& cell) {
  return mask.plane(cell.batch, cell.head)
             ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) > 0;
}

std::string cells_said(
    const Residue& cells, const std::function<Index()>& opened,
    const std::function<std::string(const Cell&, std::span<const Cell>)>& words) {
  const std::span<const Cell> all(cells.first);
  if (cells.cells > static_cast<Index>(kCellsInWords)) {
    const Index open = opened(), closed = cells.cells - open;
    const std::string states =
        open == 0 || closed == 0
            ? ""
            : fmt::format("{} open and {} closed, ", grouped(open), grouped(closed));
    return fmt::format("{} cells, {}the first {}", grouped(cells.cells), states,
                       words(all.front(), all.first(1)));
  }
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    out += (i == 0 ? "" : i + 1 < all.size() ? "; " : " and ") + words(all[i], all);
  }
  return out;
}

}  // namespace maskctl
