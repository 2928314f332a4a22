// Where the runs of a plane begin and end: the places that a rule's numbers come from; private to
// inspect.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl::recognising {

/// An edge e of keys lies between keys e - 1 and e; one of diagonals between key - query = e - 1
/// and e. Those that most rows have come first.
struct Edges {
  std::vector<Index> diagonals, keys;
};

/// At most `most` of each. Of large planes that are not held as bands only some rows are read.
Edges edges_of(const Plane& plane, std::size_t most);

}  // namespace maskctl::recognising
