// and, or, xor and sub: combine the mask with another one.
#pragma once

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

struct Combine {
  Op op = Op::kAnd;
  Mask mask = {};
  std::string text = {};                                       // the SOURCE of the mask
  friend bool operator==(const Combine& a, const Combine& b);  // compares the cells of masks
};
const RuleInfo& row(const Combine*);

}  // namespace maskctl::step
