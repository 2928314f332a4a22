// The integer type of every count, extent and position, and half-open ranges of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace maskctl {

using Index = std::int64_t;

/// Converts n, which must not be negative, to the type of subscripts and sizes in the standard
/// library.
constexpr std::size_t as_size(Index n) { return static_cast<std::size_t>(n); }

/// Half open: [begin, end). Empty when end <= begin.
struct Range {
  Index begin = 0;
  Index end = 0;

  constexpr Index size() const { return end > begin ? end - begin : 0; }
  constexpr bool empty() const { return end <= begin; }
  constexpr bool contains(Index i) const { return i >= begin && i < end; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

constexpr Range intersect(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// The smallest range that contains both; empty ranges are ignored.
constexpr Range hull(Range a, Range b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

constexpr Index ceil_div(Index n, Index d) { return n / d + (n % d > 0); }

/// The quotient n / d rounded towards minus infinity; `/` rounds towards zero. d > 0.
constexpr Index floor_div(Index n, Index d) { return n / d - (n % d < 0); }

}  // namespace maskctl
