// Divides a plane into documents: rectangles of queries and keys that see each other.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

struct DocumentRange {
  Range q, k;
};

/// The documents of a plane, ascending along both axes: no query of one sees a key of another. Rows
/// that see keys of an earlier document are merged with it, and so are all documents in between.
std::vector<DocumentRange> document_ranges(const Plane& plane);

}  // namespace maskctl
