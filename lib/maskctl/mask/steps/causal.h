// causal: keeps the keys up to the query's position.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells where k <= q + shift(align) + offset.
struct Causal {
  Align align = Align::kUnset;
  NamedArray offsets = {};  // [1] or one per batch; empty means 0
  friend bool operator==(const Causal&, const Causal&) = default;
};
const RuleInfo& row(const Causal*);

}  // namespace maskctl::step
