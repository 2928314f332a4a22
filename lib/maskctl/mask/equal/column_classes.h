// Columns that are equal; private to the mask layer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/equal/row_groups.h"

namespace maskctl {

/// Each stretch of equal neighbouring columns: where it starts, and the first stretch that equals
/// it.
struct ColumnClasses {
  std::vector<std::int32_t> begin;
  std::vector<std::uint32_t> first;
};

/// Finds them by the hashes of `scan`, then compares bit by bit on `rows`, which are one row for
/// each distinct row of the plane. Nothing when two different columns have the same hash.
std::optional<ColumnClasses> column_classes(const Plane& plane, const RowScan& scan,
                                            std::span<const Index> rows);

}  // namespace maskctl
