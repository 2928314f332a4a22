// The pass over the rows for mask_cost(): lengths, stored runs, and open cells per rank.
#pragma once

#include <vector>

#include "maskctl/inspect/count/row_lengths.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// What mask_cost() needs to know about the rows of a plane. Private to the inspect layer.
struct RowCost {
  std::vector<LengthGroup> lengths;
  Index runs = 0;              // stored runs of all rows
  std::vector<Index> parts;    // open cells in each of 2 * ranks contiguous parts of the queries
  std::vector<Index> striped;  // open cells of the queries q with q % ranks = i
};

/// Computes the sums in one parallel pass over the rows. Part i has the queries [i * n / (2 *
/// ranks), (i + 1) * n / (2 * ranks)) of n.
RowCost row_cost(const Plane& plane, Index ranks);

}  // namespace maskctl
