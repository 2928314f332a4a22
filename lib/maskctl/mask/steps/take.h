// take: rows and columns of the mask by index, in any order and any number of times.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Cell (q, k) of the result is cell (q_index[q], kv_index[k]) of the mask before: the tokens of a
/// rank (zigzag, striped), the slots of a ring, the order of pages, the keys that a cache has kept.
/// Indices are integers [S] or [B,S], or every stride-th token of ranges; a side without any takes
/// all queries or keys as they are. Throws Error(kInvalidArgument) for indices that the mask does
/// not have.
struct Take {
  NamedArray q = {}, kv = {};
  std::vector<Range> queries = {}, keys = {};  // instead of arrays
  Index stride = 1;
  friend bool operator==(const Take&, const Take&) = default;
};
const RuleInfo& row(const Take*);

}  // namespace maskctl::step
