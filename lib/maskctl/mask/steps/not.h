// not: opens what is closed and closes what is open.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

struct Not {
  friend bool operator==(const Not&, const Not&) = default;
};
const RuleInfo& row(const Not*);

}  // namespace maskctl::step
