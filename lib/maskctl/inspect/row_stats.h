// How many keys the rows of a plane see, and which keys none of them sees.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Private to the inspect layer. `rows` rows that see `keys` keys each.
struct LengthGroup {
  Index keys = 0;
  Index rows = 0;
};

struct RowFigures {
  std::vector<LengthGroup> groups;     // ascending by keys, each number once
  std::optional<Index> empty_columns;  // nothing where marking them would cost too much memory
};

/// One parallel pass over the rows.
RowFigures row_figures(const Plane& plane);

/// The union of two distributions, b taken `times` times.
std::vector<LengthGroup> merge_groups(const std::vector<LengthGroup>& a,
                                      const std::vector<LengthGroup>& b, Index times);
/// Keys of the middle row, or the mean of both middle rows; 0 without rows.
double median(const std::vector<LengthGroup>& groups);

}  // namespace maskctl
