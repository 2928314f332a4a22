// A search that starts near where the last one ended; private to the mask layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "maskctl/mask/rows.h"

namespace maskctl {

/// The first place from `from` on where `before` is false, in steps that double: O(log distance),
/// and no cache misses far away. `before` must be true on a prefix of the runs behind `from`.
template <typename F>
std::size_t gallop(std::span<const Run> runs, std::size_t from, F&& before) {
  std::size_t step = 1;
  std::size_t high = from;
  while (high < runs.size() && before(runs[high])) {
    from = high + 1;
    high += step;
    step *= 2;
  }
  const auto part = runs.subspan(from, std::min(high, runs.size()) - from);
  return from + static_cast<std::size_t>(std::ranges::partition_point(part, before) - part.begin());
}

}  // namespace maskctl
