// Groups rows that see the same list of keys, clipped to the same range.
#include "maskctl/mask/planes/row_lists/row_list_groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace maskctl {
namespace {

/// Groups neighbouring equal rows and sorts the groups by list; drops empty clips.
std::vector<ClipGroup> by_list(std::span<const RowRef> refs, std::size_t lists) {
  std::vector<ClipGroup> out;
  for (const RowRef& ref : refs) {
    if (ref.begin >= ref.end) continue;
    if (!out.empty() && out.back().ref == ref) {
      ++out.back().rows;
    } else {
      out.push_back({ref, 1});
    }
  }
  const auto list = [](const ClipGroup& group) { return group.ref.list; };
  if (std::ranges::is_sorted(out, {}, list)) return out;
  if (lists > out.size()) {
    std::ranges::stable_sort(out, {}, list);
    return out;
  }
  std::vector<std::size_t> next(lists + 1);
  for (const ClipGroup& group : out) ++next[group.ref.list + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<ClipGroup> sorted(out.size());
  for (const ClipGroup& group : out) sorted[next[group.ref.list]++] = group;
  return sorted;
}

void merge_equal(std::vector<ClipGroup>& groups) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    if (groups[i].ref == groups[last].ref) {
      groups[last].rows += groups[i].rows;
    } else {
      groups[++last] = groups[i];
    }
  }
  if (!groups.empty()) groups.resize(last + 1);
}

}  // namespace

std::vector<ClipGroup> grouped(std::span<const RowRef> refs, std::size_t lists) {
  const auto position = [](const ClipGroup& g) {
    return std::tuple(g.ref.list, g.ref.begin, g.ref.end);
  };
  std::vector<ClipGroup> out = by_list(refs, lists);
  merge_equal(out);
  if (std::ranges::is_sorted(out, {}, position)) return out;
  std::ranges::sort(out, {}, position);
  merge_equal(out);
  return out;
}

}  // namespace maskctl
