#include "maskctl/inspect/count/equal_planes.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

namespace maskctl {

std::vector<std::size_t> first_equal_planes(const Mask& mask) {
  const std::span<const PlanePtr> planes = mask.distinct();
  std::vector<std::size_t> out;
  if (planes.size() == 1) return {0};
  std::map<Index, std::vector<std::size_t>> by_count;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    std::vector<std::size_t>& alike = by_count[planes[i]->count()];
    const auto same = std::ranges::find_if(
        alike, [&](std::size_t other) { return differing_cells(planes[other], planes[i]) == 0; });
    out.push_back(same == alike.end() ? i : *same);
    if (same == alike.end()) alike.push_back(i);
  }
  return out;
}

Index different_planes(const Mask& mask) {
  const std::vector<std::size_t> first = first_equal_planes(mask);
  std::set<std::size_t> used;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) used.insert(first[mask.index_of(b, h)]);
  }
  return std::ssize(used);
}

}  // namespace maskctl
