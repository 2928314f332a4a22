#include "maskctl/mask/arrays/segment_ids.h"

#include <algorithm>
#include <optional>

#include "maskctl/mask/equal/column_classes.h"
#include "maskctl/mask/equal/equal_lines.h"
#include "maskctl/mask/equal/row_groups.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"

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

/// The first row of each class of equal rows.
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

/// For each query, the class (keys with the same id) of which it sees all keys, or -1 if it sees
/// none. Nothing if some query sees only part of a class.
std::optional<Ids> seen_whole(const ClippedClasses& classes) {
  std::vector<Run> hulls(static_cast<std::size_t>(classes.count));
  for (std::size_t key = 0; key < classes.k.size(); ++key) {
    if (classes.k[key] < 0) continue;
    Run& hull = hulls[static_cast<std::size_t>(classes.k[key])];
    const auto at = static_cast<std::int32_t>(key);
    hull = {hull.begin < hull.end ? hull.begin : at, at + 1};
  }
  Ids out(classes.q.size(), -1);
  for (std::size_t row = 0; row < out.size(); ++row) {
    if (classes.q[row] < 0) continue;
    const Run hull = hulls[static_cast<std::size_t>(classes.q[row])], clip = classes.clip[row];
    if (std::max(hull.begin, clip.begin) >= std::min(hull.end, clip.end)) continue;
    if (clip.begin > hull.begin || clip.end < hull.end) return std::nullopt;
    out[row] = classes.q[row];
  }
  return out;
}

/// Renumbers ids from 0 in order of first appearance. -1 stays; ids whose `open` flag is false
/// become -1.
void renumber(Ids& ids, const std::vector<bool>& open) {
  Ids numbers(open.size(), -1);
  std::int32_t count = 0;
  for (std::int32_t& id : ids) {
    if (id < 0) continue;
    std::int32_t& number = numbers[static_cast<std::size_t>(id)];
    if (number < 0 && open[static_cast<std::size_t>(id)]) number = count++;
    id = number;
  }
}

/// Returns the ids of queries and keys of a plane of documents whose ids recur. Such a plane has
/// too many runs to hash, but it stores the list of keys of each document, from which the ids are
/// read. Returns nothing for other planes.
std::optional<std::pair<Ids, Ids>> ids_of_documents(const Plane& plane) {
  auto classes = clipped_classes(plane);
  auto q = classes ? seen_whole(*classes) : std::nullopt;
  if (!q) return std::nullopt;
  std::vector<bool> seen(static_cast<std::size_t>(classes->count));
  for (const std::int32_t id : *q) {
    if (id >= 0) seen[static_cast<std::size_t>(id)] = true;
  }
  renumber(*q, seen);
  renumber(classes->k, seen);
  return std::pair(std::move(*q), std::move(classes->k));
}

}  // namespace

std::vector<std::int32_t> row_classes(const Plane& plane) {
  const RowScan scan = scan_rows(plane, false);
  return ids_of_rows(plane, scan.groups, first_groups(plane, scan.groups));
}

std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> segment_ids_of_mask(
    const Plane& plane) {
  if (auto ids = ids_of_documents(plane)) return std::move(*ids);
  const RowScan scan = scan_rows(plane, true);
  const auto first = first_groups(plane, scan.groups);
  return {ids_of_rows(plane, scan.groups, first),
          ids_of_columns(plane, scan, distinct_rows(scan.groups, first))};
}

}  // namespace maskctl
