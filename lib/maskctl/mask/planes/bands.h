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

/// A range of rows; each of them is open in the union of `bands`.
struct Slab {
  Range q;
  std::vector<Band> bands;
};

/// Slabs must ascend without overlap (rows in no slab are empty). Bands may overlap, be empty on
/// some rows, and reach past the plane: they are clipped, split and merged here.
PlanePtr bands(Index queries, Index keys, const std::vector<Slab>& slabs);

/// The slabs of a plane that is stored as bands, else null. Slabs ascend without overlap; on every
/// row of its slab each band is inside [0, keys) and not empty, and bands ascend without touching.
const std::vector<Slab>* slabs_of(const Plane& plane);

/// Planes with no open cell and with all cells open.
PlanePtr empty_plane(Index queries, Index keys);
PlanePtr full_plane(Index queries, Index keys);
/// Opens key k of query q where q + low <= k <= q + high. -kUnbounded and kUnbounded are no limit.
inline constexpr Index kUnbounded = Index{1} << 40;
PlanePtr diagonal_band(Index queries, Index keys, Index low, Index high);
/// The open cells that a diagonal band of the plane's size has in common with it.
Index count_on_diagonals(const PlanePtr& plane, Index low, Index high);
/// All keys in [begin, end) open, for the rows in q.
PlanePtr rectangle(Index queries, Index keys, Range q, Range k);

}  // namespace maskctl
