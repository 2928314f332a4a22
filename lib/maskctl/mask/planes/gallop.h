// Galloping search: a binary search that first looks near the place where the last one ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace maskctl {

/// The index of the first item at or after `from` for which before(item) is false. From `from` on,
/// `before` must first be true and then false. Step sizes double, so the search costs O(log
/// distance) and reads memory nearby.
template <typename T, typename F>
std::size_t gallop(std::span<const T> items, std::size_t from, F&& before) {
  std::size_t step = 1;
  std::size_t high = from;
  while (high < items.size() && before(items[high])) {
    from = high + 1;
    high += step;
    step *= 2;
  }
  const auto part = items.subspan(from, std::min(high, items.size()) - from);
  return from + static_cast<std::size_t>(std::ranges::partition_point(part, before) - part.begin());
}

}  // namespace maskctl
