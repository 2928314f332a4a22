// Columns that are equal; private to the mask layer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/row_groups.h"

namespace maskctl {

/// The column where each stretch of equal neighbours starts, and the first stretch it equals.
struct ColumnClasses {
  std::vector<std::int32_t> begin;
  std::vector<std::uint32_t> first;
};

/// By the hashes of `scan`, compared bit by bit on `rows`: one row for each distinct row of the
/// plane. Nothing when hashes were equal for columns that are not.
std::optional<ColumnClasses> column_classes(const Plane& plane, const RowScan& scan,
                                            std::span<const Index> rows);

}  // namespace maskctl
