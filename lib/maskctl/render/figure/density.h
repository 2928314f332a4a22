// How many cells are open in each rectangle of a plane: the numbers behind every drawing.
#pragma once

#include <algorithm>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// A matrix of rectangles of cells. Rectangle (r, c) covers queries [q.begin + r * q_step,
/// + q_step) and keys [k.begin + c * k_step, + k_step), cut off at q.end and k.end.
struct GridShape {
  Range q, k;
  Index q_step = 1, k_step = 1;
  Index rows = 0, columns = 0;

  std::size_t index(Index row, Index column) const { return as_size(row * columns + column); }
  Range queries(Index row) const {
    return {q.begin + row * q_step, std::min(q.end, q.begin + (row + 1) * q_step)};
  }
  Range keys(Index column) const {
    return {k.begin + column * k_step, std::min(k.end, k.begin + (column + 1) * k_step)};
  }
  Index area(Index row, Index column) const { return queries(row).size() * keys(column).size(); }
};

/// Throws Error(kInvalidArgument) for a step outside 1 .. 2^31 - 1, Error(kLimit) for more than
/// 2^26 rectangles.
GridShape grid_shape(Range q, Range k, BlockSize step);

struct DensityGrid : GridShape {
  std::vector<Index> open;  // row-major

  Index at(Index row, Index column) const { return open[index(row, column)]; }
  Index total() const;  // open cells in the whole grid
};

/// Reads the structure of the plane once, in parallel over rows of rectangles, and never its
/// cells. The ranges of the shape must lie inside the plane.
DensityGrid density(const Plane& plane, const GridShape& shape);
/// density() of a whole plane.
DensityGrid density(const Plane& plane, Index q_step, Index k_step);

/// The smallest blocks of 2^n or 3 * 2^n with which `rows` x `columns` units become at most
/// max_rows x max_columns blocks: equal on both axes, unless the shorter axis would get fewer than
/// `enough`.
BlockSize fitting_block(Index rows, Index columns, Index max_rows, Index max_columns, Index enough);

}  // namespace maskctl
