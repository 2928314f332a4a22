// Reads a plane once: finds groups of equal rows and hashes all columns; private to the mask layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/equal/column_sums.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// A range of neighbouring rows that are equal.
struct RowGroup {
  Range rows;
  std::uint64_t hash = 0;
  bool open = false;  // any key is open
};

/// What one pass over the rows of a plane finds: groups of equal rows and, on request, a hash of
/// each column.
struct RowScan {
  std::vector<RowGroup> groups;
  std::vector<ColumnSums::Column> columns;  // empty unless requested
  bool any_words = false;                   // some rows were words; set only with columns
};
RowScan scan_rows(const Plane& plane, bool with_columns);

/// For each group, the index of the first group with the same row.
std::vector<std::uint32_t> first_groups(const Plane& plane, std::span<const RowGroup> groups);

}  // namespace maskctl
