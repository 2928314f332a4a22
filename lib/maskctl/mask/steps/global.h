// global: opens the rows and the columns of some tokens.
#pragma once

#include <vector>

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

struct Global {
  std::vector<Range> tokens = {};
  friend bool operator==(const Global&, const Global&) = default;
};
const RuleInfo& row(const Global*);

}  // namespace maskctl::step
