// Diagonal bands that are clipped to parts of a plane, such as its documents.
#pragma once

#include <span>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// A band inside a rectangle: query q in `q` sees key k in `k` where q + low <= k <= q + high.
/// Indices are those of the whole plane. -kUnbounded and kUnbounded (bands.h) mean no limit.
struct DiagonalPart {
  Range q, k;
  Index low = 0, high = 0;
};

/// The plane in which the cells of all parts are open and all others closed. Parts ascend, and no
/// query is in two of them. O(parts).
PlanePtr diagonal_parts(Index queries, Index keys, std::span<const DiagonalPart> parts);

}  // namespace maskctl
