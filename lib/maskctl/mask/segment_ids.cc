#include "maskctl/mask/segment_ids.h"

#include <algorithm>

#include "maskctl/mask/column_classes.h"
#include "maskctl/mask/equal_lines.h"
#include "maskctl/mask/row_groups.h"

namespace maskctl {
namespace {

using Ids = std::vector<std::int32_t>;

Ids ids_of_rows(const Plane& plane, std::span<const RowGroup> groups,
                std::span<const std::uint32_t> first) {
  const Ids numbers = numbers_of(first, [&](std::size_t i) { return groups[i].open; });
  Ids ids(static_cast<std::size_t>(plane.queries()));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Range rows = groups[i].rows;
    std::fill(ids.begin() + rows.begin, ids.begin() + rows.end, numbers[i]);
  }
  return ids;
}

/// One row of each kind.
std::vector<Index> distinct_rows(std::span<const RowGroup> groups,
                                 std::span<const std::uint32_t> first) {
  std::vector<Index> rows;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (first[i] == i) rows.push_back(groups[i].rows.begin);
  }
  return rows;
}

Ids ids_of_columns(const Plane& plane, const RowScan& scan, std::span<const Index> rows) {
  const auto classes = column_classes(plane, scan, rows);
  if (!classes) return row_classes(*plane.transposed());
  const auto begin = [&](std::size_t i) { return static_cast<std::size_t>(classes->begin[i]); };
  const Ids numbers =
      numbers_of(classes->first, [&](std::size_t i) { return scan.columns[begin(i)].open; });
  Ids ids(static_cast<std::size_t>(plane.keys()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t end = i + 1 < numbers.size() ? begin(i + 1) : ids.size();
    std::fill(ids.begin() + classes->begin[i], ids.begin() + static_cast<std::ptrdiff_t>(end),
              numbers[i]);
  }
  return ids;
}

}  // namespace

std::vector<std::int32_t> row_classes(const Plane& plane) {
  const RowScan scan = scan_rows(plane, false);
  return ids_of_rows(plane, scan.groups, first_groups(plane, scan.groups));
}

std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> segment_ids_of_mask(
    const Plane& plane) {
  const RowScan scan = scan_rows(plane, true);
  const auto first = first_groups(plane, scan.groups);
  return {ids_of_rows(plane, scan.groups, first),
          ids_of_columns(plane, scan, distinct_rows(scan.groups, first))};
}

}  // namespace maskctl
