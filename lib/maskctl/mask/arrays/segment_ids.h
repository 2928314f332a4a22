// Segment ids recovered from a mask: equal rows get the same id, and so do equal columns.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// The segment ids of one plane: {ids of queries, ids of keys}. Queries that see the same keys get
/// the same id, numbered from 0 by first appearance; queries that see nothing get -1. Keys are
/// numbered likewise, by the queries that see them. The two sides are numbered separately: equal
/// numbers do not mean that a query sees a key. A mask made from the ids equals the plane only if
/// that consists of disjoint rectangles. Rows are compared if their hashes are equal; each is
/// hashed once.
std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> segment_ids_of_mask(
    const Plane& plane);

/// The ids of the rows only, as segment_ids_of_mask() numbers them.
std::vector<std::int32_t> row_classes(const Plane& plane);

}  // namespace maskctl
