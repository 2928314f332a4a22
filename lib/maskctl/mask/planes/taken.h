// Rows and columns of a plane by index.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// The indices begin, begin + step, ..., `count` of them; step >= 1.
struct Progression {
  Index begin = 0, step = 1, count = 0;

  constexpr Index at(Index i) const { return begin + i * step; }
  constexpr Index last() const { return at(count - 1); }
  friend constexpr bool operator==(const Progression&, const Progression&) = default;
};
/// Indices in any order, which may recur, as progressions one after another.
using Indices = std::vector<Progression>;

Indices indices_of(std::span<const std::int32_t> numbers);
/// Appends an index or a progression, which continues the last one where it can.
void append_index(Index index, Indices& out);
void append_progression(const Progression& next, Indices& out);
Index count_of(const Indices& indices);

/// The plane whose cell (i, j) is cell (q[i], kv[j]) of `base`, which must have these rows and
/// keys. O(1) in the length of progressions where `base` is bands and all progressions have one
/// step; otherwise its rows are computed when they are read, each in O(ascents * runs * log kv),
/// where an ascent is a part of `kv` that never decreases, such as the tokens of a rank.
PlanePtr taken(const PlanePtr& base, const Indices& q, const Indices& kv);

}  // namespace maskctl
