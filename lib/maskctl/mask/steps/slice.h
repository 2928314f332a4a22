// slice: cuts out a part of the mask; indices in the part start at 0 again.
#pragma once

#include <optional>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

struct Slice {
  std::optional<Range> b = {}, h = {}, q = {}, k = {};
  friend bool operator==(const Slice&, const Slice&) = default;
};
const RuleInfo& row(const Slice*);

}  // namespace maskctl::step
