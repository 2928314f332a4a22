// Where the runs of open keys in a plane begin and end: the numbers that its rules are likely to
// have; private to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// Key edge e is between keys e - 1 and e; diagonal edge e is between diagonals e - 1 and e, where
/// a diagonal is key - query. Edges that the most rows have come first.
struct Edges {
  std::vector<Index> diagonals, keys;
};

/// Returns at most `most` edges of each kind. Of large planes not stored as bands, only some rows
/// are read.
Edges edges_of(const Plane& plane, std::size_t most);

}  // namespace maskctl::recognition
