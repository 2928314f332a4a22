// open and close: rows, columns, rectangles and single cells.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"

namespace maskctl::step {

/// Opens or closes every cell of the given queries and keys; a side without ranges means all. For
/// manual edits. Ranges must lie in the mask.
struct Region {
  bool open = true;
  std::vector<Range> q = {}, k = {};
  friend bool operator==(const Region&, const Region&) = default;
};

}  // namespace maskctl::step
