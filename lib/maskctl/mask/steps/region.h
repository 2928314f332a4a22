// open and close: rows, columns, rectangles and single cells.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Opens or closes all cells of the given queries and keys, for edits by hand. Without ranges of
/// queries (or keys), all are meant. Ranges must be inside the mask.
struct Region {
  bool open = true;
  std::vector<Range> q = {}, k = {};
  friend bool operator==(const Region&, const Region&) = default;
};
const RuleInfo& row(const Region*);

}  // namespace maskctl::step
