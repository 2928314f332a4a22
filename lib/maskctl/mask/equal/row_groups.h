// Groups of equal rows and hashes of all columns, from one reading of a plane; private to the mask
// layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/equal/column_sums.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// Neighbouring rows that are equal.
struct RowGroup {
  Range rows;
  std::uint64_t hash = 0;
  bool open = false;  // sees something
};

/// The result of reading all rows once.
struct RowScan {
  std::vector<RowGroup> groups;
  std::vector<ColumnSums::Column> columns;  // empty unless requested
  bool any_words = false;                   // some rows came as words; only set with columns
};
RowScan scan_rows(const Plane& plane, bool with_columns);

/// For each group, the first group with equal rows.
std::vector<std::uint32_t> first_groups(const Plane& plane, std::span<const RowGroup> groups);

}  // namespace maskctl
