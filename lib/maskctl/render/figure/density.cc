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

/// The smallest number of the form 2^n or 3 * 2^n that is at least n.
Index round_step(Index n) {
  Index step = 1;
  while (step < n) step *= 2;
  return step >= 4 && step / 4 * 3 >= n ? step / 4 * 3 : step;
}

/// Halves the step of an axis that has fewer than `enough` blocks, as long as they fit into `room`.
Index refine(Index step, Index extent, Index room, Index enough) {
  while (step > 1 && ceil_div(extent, step) < enough && ceil_div(extent, step / 2) <= room) {
    step /= 2;
  }
  return step;
}

}  // namespace

GridShape grid_shape(Range q, Range k, BlockSize step) {
  if (step.q < 1 || step.k < 1 || step.q > kMaxStep || step.k > kMaxStep) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a block of {}x{} elements: expected 1 to {} on each axis", step.q,
                            step.k, kMaxStep));
  }
  const GridShape shape{
      q, k, step.q, step.k, ceil_div(q.size(), step.q), ceil_div(k.size(), step.k)};
  const auto cells = checked_mul(shape.rows, shape.columns);
  if (!cells || *cells > kMaxCells) {
    throw Error(Errc::kLimit,
                fmt::format("{}x{} blocks of {}x{} elements: at most {} blocks; use larger ones",
                            shape.rows, shape.columns, step.q, step.k, kMaxCells));
  }
  return shape;
}

Index DensityGrid::total() const { return std::accumulate(open.begin(), open.end(), Index{0}); }

DensityGrid density(const Plane& plane, const GridShape& shape) {
  DensityGrid grid{shape, {}};
  grid.open.assign(as_size(shape.rows * shape.columns), 0);
  if (grid.open.empty()) return grid;
  std::vector<Index> edges;
  for (Index column = 0; column < grid.columns; ++column) edges.push_back(grid.keys(column).begin);
  edges.push_back(grid.k.end);
  parallel_for(grid.rows, [&](Index row) {
    plane.counts(grid.queries(row), edges,
                 std::span(grid.open).subspan(grid.index(row, 0), as_size(grid.columns)));
  });
  return grid;
}

DensityGrid density(const Plane& plane, Index q_step, Index k_step) {
  return density(plane, grid_shape({0, plane.queries()}, {0, plane.keys()}, {q_step, k_step}));
}

BlockSize fitting_block(Index rows, Index columns, Index max_rows, Index max_columns,
                        Index enough) {
  const Index step =
      std::max(round_step(ceil_div(rows, max_rows)), round_step(ceil_div(columns, max_columns)));
  return {refine(step, rows, max_rows, enough), refine(step, columns, max_columns, enough)};
}

}  // namespace maskctl
