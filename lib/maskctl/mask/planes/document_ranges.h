// Documents that a plane consists of: rectangles around connected queries and keys.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

struct DocumentRange {
  Range q, k;
};

/// The documents, ascending along both axes; no key of one document is seen from another. A group
/// of rows that reaches back is merged with all documents from the one it reaches.
std::vector<DocumentRange> document_ranges(const Plane& plane);

}  // namespace maskctl
