// Tier 0, the cheapest form of a plane: masks bounded by straight lines. Memory is O(number of
// lines) whatever the size.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// A band of open keys: query q sees keys [begin + q * begin_slope, end + q * end_slope). Slopes
/// are 0 or 1.
struct Band {
  Index begin = 0;
  Index end = 0;
  std::uint8_t begin_slope = 0;
  std::uint8_t end_slope = 0;

  constexpr Index begin_at(Index q) const { return begin + (begin_slope ? q : 0); }
  constexpr Index end_at(Index q) const { return end + (end_slope ? q : 0); }
  friend bool operator==(const Band&, const Band&) = default;
};

/// A range of rows which all see the union of `bands`.
struct Slab {
  Range q;
  std::vector<Band> bands;
};

/// Makes the plane of these slabs (ranges of rows with their bands), which must ascend without
/// overlap; rows in no slab see nothing. Bands may overlap, be empty on some rows, and extend past
/// the plane: they are clipped, split and merged.
PlanePtr bands(Index queries, Index keys, const std::vector<Slab>& slabs);

/// The slabs (ranges of rows with the same bands) of a plane that is stored as bands, else null.
/// Slabs ascend without overlap. On every row of a slab each band is inside [0, keys) and not
/// empty, and the bands ascend without touching.
const std::vector<Slab>* slabs_of(const Plane& plane);

/// Planes in which no cell is open and in which all cells are open.
PlanePtr empty_plane(Index queries, Index keys);
PlanePtr full_plane(Index queries, Index keys);
/// Query q sees key k where q + low <= k <= q + high. -kUnbounded or kUnbounded means no limit.
inline constexpr Index kUnbounded = Index{1} << 40;
PlanePtr diagonal_band(Index queries, Index keys, Index low, Index high);
/// The number of open cells with q + low <= k <= q + high.
Index count_on_diagonals(const PlanePtr& plane, Index low, Index high);
/// The rows in q see the keys in k; all other cells are closed.
PlanePtr rectangle(Index queries, Index keys, Range q, Range k);

}  // namespace maskctl
