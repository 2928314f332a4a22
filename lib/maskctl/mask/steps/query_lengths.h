// query-lengths: closes queries past the length of their batch.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells where q < length. Lengths are [1] or [B]. For lengths of keys, see KvLengths.
struct QueryLengths {
  NamedArray lengths = {};
  friend bool operator==(const QueryLengths&, const QueryLengths&) = default;
};
const RuleInfo& row(const QueryLengths*);

}  // namespace maskctl::step
