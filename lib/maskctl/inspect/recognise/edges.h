// Where the runs of a plane begin and end, which is where the numbers of a rule come from; private
// to inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// Edge e of keys lies between keys e - 1 and e; an edge of diagonals between key - query = e - 1
/// and e. Edges shared by the most rows come first.
struct Edges {
  std::vector<Index> diagonals, keys;
};

/// At most `most` of each kind. For large planes that are not bands, only some rows are read.
Edges edges_of(const Plane& plane, std::size_t most);

}  // namespace maskctl::recognition
