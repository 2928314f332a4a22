// Rectangles of queries and keys shared by many rows of a small mask; private to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// Unions of rectangles (each of any queries and any keys) that contain no closed cell and share no
/// query and perhaps no key. When rows are unions of two things, the intersection of two rows is
/// often one of them, so the unions are built from the most common intersections. At most a few,
/// the likeliest first; empty for large planes. Keys that every query may see and queries that may
/// see every key carry no information and are left out.
std::vector<PlanePtr> common_rectangles(const Plane& closed);

}  // namespace maskctl::recognition
