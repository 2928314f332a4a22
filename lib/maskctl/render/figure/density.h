// How many cells are open in each rectangle of a plane, from which every drawing is made.
#pragma once

#include <algorithm>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// A grid of rectangles of cells. Rectangle (r, c) covers q_step queries from q.begin + r * q_step
/// on and k_step keys from k.begin + c * k_step on, cut off at q.end and k.end.
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

/// Returns the grid of rectangles of `step` cells that covers these queries and keys. Throws
/// Error(kInvalidArgument) for a step outside 1 .. 2^31 - 1, Error(kLimit) for more than 2^26
/// rectangles.
GridShape grid_shape(Range q, Range k, BlockSize step);

struct DensityGrid : GridShape {
  std::vector<Index> open;  // open cells of each rectangle, row-major

  Index at(Index row, Index column) const { return open[index(row, column)]; }
  Index total() const;  // open cells in the whole grid
};

/// Counts the open cells of each rectangle. Reads the structure of the plane once, in parallel over
/// rows of rectangles, and never single cells. The ranges of the shape must be inside the plane.
DensityGrid density(const Plane& plane, const GridShape& shape);
/// density() of a whole plane.
DensityGrid density(const Plane& plane, Index q_step, Index k_step);

/// The smallest blocks of 2^n or 3 * 2^n units with which `rows` x `columns` units become at most
/// max_rows x max_columns blocks. They are square, unless the shorter axis would then get fewer
/// than `enough` blocks.
BlockSize fitting_block(Index rows, Index columns, Index max_rows, Index max_columns, Index enough);

}  // namespace maskctl
