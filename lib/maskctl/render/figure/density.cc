#include "maskctl/render/figure/density.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <span>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"

namespace maskctl {
namespace {

constexpr Index kMaxCells = Index{1} << 26;
constexpr Index kMaxStep = std::numeric_limits<std::int32_t>::max();

DensityGrid empty_grid(Range q, Range k, Index q_step, Index k_step) {
  if (q_step < 1 || k_step < 1 || q_step > kMaxStep || k_step > kMaxStep) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a block of {}x{} elements: expected 1 to {} on each axis", q_step,
                            k_step, kMaxStep));
  }
  DensityGrid grid{q, k, q_step, k_step, ceil_div(q.size(), q_step), ceil_div(k.size(), k_step),
                   {}};
  const auto cells = checked_mul(grid.rows, grid.columns);
  if (!cells || *cells > kMaxCells) {
    throw Error(Errc::kLimit,
                fmt::format("{}x{} blocks of {}x{} elements: at most {} blocks; use larger ones",
                            grid.rows, grid.columns, q_step, k_step, kMaxCells));
  }
  grid.open.assign(static_cast<std::size_t>(*cells), 0);
  return grid;
}

}  // namespace

Index DensityGrid::total() const { return std::accumulate(open.begin(), open.end(), Index{0}); }

DensityGrid density(const Plane& plane, Range q, Range k, Index q_step, Index k_step) {
  DensityGrid grid = empty_grid(q, k, q_step, k_step);
  if (grid.open.empty()) return grid;
  std::vector<Index> edges;
  for (Index column = 0; column < grid.columns; ++column) edges.push_back(grid.keys(column).begin);
  edges.push_back(k.end);
  parallel_for(grid.rows, [&](Index row) {
    const auto columns = static_cast<std::size_t>(grid.columns);
    const auto first = static_cast<std::size_t>(row) * columns;
    plane.counts(grid.queries(row), edges, std::span(grid.open).subspan(first, columns));
  });
  return grid;
}

DensityGrid density(const Plane& plane, Index q_step, Index k_step) {
  return density(plane, {0, plane.queries()}, {0, plane.keys()}, q_step, k_step);
}

}  // namespace maskctl
