// Planes placed along a diagonal, such as those of documents.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// A plane of the queries `q` and the keys `k` of a larger one.
struct PlacedPart {
  Range q, k;
  PlanePtr plane;
};

/// The plane that has these parts; all other cells are closed. The queries of parts ascend, and no
/// query is in two of them. Bands stay bands; other rows are computed when they are read.
PlanePtr diagonal_planes(Index queries, Index keys, std::vector<PlacedPart> parts);

}  // namespace maskctl
