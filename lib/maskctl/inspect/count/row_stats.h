// How many keys the rows of a plane see, and which keys no row sees.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Private to the inspect layer. `rows` rows see `keys` keys each.
struct LengthGroup {
  Index keys = 0;
  Index rows = 0;
};

struct RowFigures {
  std::vector<LengthGroup> groups;     // ascending by keys, each number once
  std::optional<Index> empty_columns;  // null if marking keys would take too much memory
};

/// One parallel pass over the rows.
RowFigures row_figures(const Plane& plane);

/// Merges two distributions, counting b `times` times.
std::vector<LengthGroup> merge_groups(const std::vector<LengthGroup>& a,
                                      const std::vector<LengthGroup>& b, Index times);
/// The median number of keys (the mean of both middle rows if rows are even); 0 without rows.
double median(const std::vector<LengthGroup>& groups);

}  // namespace maskctl
