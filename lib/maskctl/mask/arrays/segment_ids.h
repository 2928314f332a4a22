// Segment ids recovered from a mask: equal rows and equal columns share an id.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// The segment ids of one plane: {ids of queries, ids of keys}. Queries that see
/// the same keys share an id, numbered from 0 by first appearance; queries that see nothing get -1.
/// Keys are numbered likewise by the queries that see them. The two sides are numbered separately:
/// equal numbers do not mean that a query sees a key, and only masks of disjoint rectangles survive
/// a round trip. Each row is hashed once; rows with equal hashes are compared.
std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> segment_ids_of_mask(
    const Plane& plane);

/// Only the ids of the rows of `plane`.
std::vector<std::int32_t> row_classes(const Plane& plane);

}  // namespace maskctl
