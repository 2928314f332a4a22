// Rectangles of queries and keys that many rows of a small mask have in common; private to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognising {

/// Unions of rectangles (each of any queries and any keys) that hold no closed cell, and share no
/// query and perhaps no key. Where rows are unions of two things, what two rows have in common is
/// often one of them: the unions are made of the commonest such parts. At most a few, likeliest
/// first; empty for large planes. Keys that every query may see and queries that may see every key
/// are left out: they say nothing.
std::vector<PlanePtr> common_rectangles(const Plane& closed);

}  // namespace maskctl::recognising
