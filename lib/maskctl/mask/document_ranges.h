// Documents that can be read off a plane: rectangles around what is connected.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

struct DocumentRange {
  Range q, k;
};

/// Documents that ascend along both axes, none touched by the keys of another. A row group that
/// reaches back joins all documents from the one that it reaches on.
std::vector<DocumentRange> document_ranges(const Plane& plane);

}  // namespace maskctl
