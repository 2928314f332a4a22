// Diagonal bands that are cut to parts of a plane, such as its documents.
#pragma once

#include <span>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Opens key k of query q, both inside the part, where q + low <= k <= q + high; the numbers are
/// those of the plane. -kUnbounded and kUnbounded (bands.h) are no limit.
struct DiagonalPart {
  Range q, k;
  Index low = 0, high = 0;
};

/// All other cells are closed. Parts ascend without a query in common. O(parts).
PlanePtr diagonal_parts(Index queries, Index keys, std::span<const DiagonalPart> parts);

}  // namespace maskctl
