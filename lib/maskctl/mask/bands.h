// Tier 0: masks bounded by straight lines, O(number of lines) at any size.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Keys [begin + q * begin_slope, end + q * end_slope) of query q; slopes are 0 or 1.
struct Band {
  Index begin = 0;
  Index end = 0;
  std::uint8_t begin_slope = 0;
  std::uint8_t end_slope = 0;

  constexpr Index begin_at(Index q) const { return begin + (begin_slope ? q : 0); }
  constexpr Index end_at(Index q) const { return end + (end_slope ? q : 0); }
  friend bool operator==(const Band&, const Band&) = default;
};

/// Rows q hold the union of `bands`.
struct Slab {
  Range q;
  std::vector<Band> bands;
};

/// Slabs must ascend without overlap (rows in no slab are empty). Bands may overlap, be empty on
/// some rows, and reach past the plane: they are clipped, split and merged here.
PlanePtr bands(Index queries, Index keys, std::vector<Slab> slabs);

/// The slabs of a plane that is held as bands, else null. Ascending without overlap; bands are
/// inside [0, keys), not empty on any row of their slab, ascending and not touching.
const std::vector<Slab>* slabs_of(const Plane& plane);

/// Nothing open, everything open.
PlanePtr empty_plane(Index queries, Index keys);
PlanePtr full_plane(Index queries, Index keys);
/// Key k of query q open where q + low <= k <= q + high. Unbounded sides: kUnboundedLow / High.
inline constexpr Index kUnbounded = Index{1} << 40;
PlanePtr diagonal_band(Index queries, Index keys, Index low, Index high);
/// All keys in [begin, end) open, for the rows in q.
PlanePtr rectangle(Index queries, Index keys, Range q, Range k);

}  // namespace maskctl
