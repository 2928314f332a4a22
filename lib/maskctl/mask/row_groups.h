// Rows that are equal, and hashes of all columns, from one reading of a plane; private to the mask
// layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/column_sums.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// Neighbouring rows that are equal.
struct RowGroup {
  Range rows;
  std::uint64_t hash = 0;
  bool open = false;  // sees something
};

/// What one reading of all rows gives.
struct RowScan {
  std::vector<RowGroup> groups;
  std::vector<ColumnSums::Column> columns;  // empty unless asked for
  bool any_words = false;                   // some rows came as words; not told without columns
};
RowScan scan_rows(const Plane& plane, bool with_columns);

/// For each group the first one whose rows are the same cells.
std::vector<std::uint32_t> first_groups(const Plane& plane, std::span<const RowGroup> groups);

}  // namespace maskctl
