// Segment ids that a mask would have had: equal rows and equal columns share an id.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// ejkernel's mask_to_segment_ids for one plane: {ids of queries, ids of keys}. Queries that see
/// the same keys share an id, numbered from 0 by first appearance; -1 for those that see nothing.
/// Keys likewise by the queries that see them. Both sides are numbered apart: equal numbers do not
/// mean that a query sees a key, and only masks of disjoint rectangles survive a round trip. Each
/// row is hashed once; equal hashes are checked by comparing the rows.
std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> segment_ids_of_mask(
    const Plane& plane);

/// The first half of it: ids of the rows of `plane`.
std::vector<std::int32_t> row_classes(const Plane& plane);

}  // namespace maskctl
