// How many cells are open in each rectangle of a plane: the numbers behind every drawing.
#pragma once

#include <algorithm>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Rectangle (r, c) covers queries [q.begin + r * q_step, + q_step) and keys [k.begin + c * k_step,
/// + k_step), cut off at q.end and k.end.
struct DensityGrid {
  Range q, k;
  Index q_step = 1, k_step = 1;
  Index rows = 0, columns = 0;
  std::vector<Index> open;  // row-major

  Index at(Index row, Index column) const {
    return open[static_cast<std::size_t>(row * columns + column)];
  }
  Range queries(Index row) const {
    return {q.begin + row * q_step, std::min(q.end, q.begin + (row + 1) * q_step)};
  }
  Range keys(Index column) const {
    return {k.begin + column * k_step, std::min(k.end, k.begin + (column + 1) * k_step)};
  }
  Index area(Index row, Index column) const { return queries(row).size() * keys(column).size(); }
  Index total() const;  // open elements in the whole grid
};

/// Reads the structure of the plane once, in parallel over rows of rectangles, and never its
/// elements. Ranges must lie inside the plane. Throws Error(kInvalidArgument) for a step outside 1
/// .. 2^31 - 1, Error(kLimit) for more than 2^26 rectangles.
DensityGrid density(const Plane& plane, Range q, Range k, Index q_step, Index k_step);
DensityGrid density(const Plane& plane, Index q_step, Index k_step);

}  // namespace maskctl
