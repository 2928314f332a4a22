// Finds equal columns; private to the mask layer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/equal/row_groups.h"

namespace maskctl {

/// Divides the columns into stretches: ranges of neighbouring columns that are equal. For stretch
/// i, begin[i] is its first column, and first[i] the number of the first stretch with equal
/// columns.
struct ColumnClasses {
  std::vector<std::int32_t> begin;
  std::vector<std::uint32_t> first;
};

/// Groups columns by the hashes in `scan`, then compares them bit by bit on `rows`, one row for
/// each distinct row of the plane. Nothing if two different columns have the same hash.
std::optional<ColumnClasses> column_classes(const Plane& plane, const RowScan& scan,
                                            std::span<const Index> rows);

}  // namespace maskctl
