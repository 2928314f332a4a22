// How many keys the rows of a plane see, and which keys no row sees.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/inspect/count/row_lengths.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// How many keys the rows of a plane see, for mask_stats(). Private to the inspect layer.
struct RowFigures {
  std::vector<LengthGroup> groups;     // in ascending order of keys, each number of keys once
  std::optional<Index> empty_columns;  // absent if marking keys would take too much memory
};

/// Computes the figures in one parallel pass over the rows.
RowFigures row_figures(const Plane& plane);

}  // namespace maskctl
