// Which rows each matrix of a grouped product multiplies.
#pragma once

#include <vector>

#include "maskctl/attention/operations/grouped_matmul/grouped_matmul.h"

namespace maskctl::attention {

/// Extents and groups of one call, checked.
struct RowGroups {
  Index rows = 0, inner = 0, columns = 0;  // m, k, n
  /// For each matrix of rhs the places of its rows in `order`.
  std::vector<Range> places;
  /// Rows by group, in order within each; empty: place i is row i.
  std::vector<Index> order;

  Index row(Index place) const { return order.empty() ? place : order[as_size(place)]; }
  Index matrices() const { return static_cast<Index>(places.size()); }
};

/// Throws what grouped_matmul documents.
RowGroups checked_row_groups(const GroupedMatmulInputs& inputs,
                             const GroupedMatmulOptions& options);

/// preferred_element_type, or the dtype of lhs.
DType result_dtype(const GroupedMatmulInputs& inputs, const GroupedMatmulOptions& options);

}  // namespace maskctl::attention
