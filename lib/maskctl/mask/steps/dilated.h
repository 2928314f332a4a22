// dilated: keeps every stride-th key, counted from the query's own.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells where (k - q) is divisible by stride.
struct Dilated {
  Index stride = 1;
  NamedArray strides = {};  // [B], one per batch, replaces `stride` unless empty
  friend bool operator==(const Dilated&, const Dilated&) = default;
};
const RuleInfo& row(const Dilated*);

}  // namespace maskctl::step
