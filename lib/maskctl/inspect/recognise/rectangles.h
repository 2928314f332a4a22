// Finds rectangles of queries and keys that many rows of a small mask share; private to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// Unions of rectangles (each of any queries and any keys) that contain no closed cell. In a union
/// no two rectangles share a query, and in some unions no key either. When rows combine two
/// patterns, the intersection of two rows is often one of these, so unions are built from the most
/// common intersections. At most a few, the likeliest first; empty for large planes. Leaves out
/// queries and keys without any closed cell, as they fit every pattern.
std::vector<PlanePtr> common_rectangles(const Plane& closed);

}  // namespace maskctl::recognition
