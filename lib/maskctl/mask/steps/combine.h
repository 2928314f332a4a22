// and, or, xor and sub: combine the mask with another one.
#pragma once

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/named_array.h"

namespace maskctl::step {

struct Combine {
  Op op = Op::kAnd;
  Mask mask = {};
  std::string text = {};                                       // the SOURCE of the mask
  friend bool operator==(const Combine& a, const Combine& b);  // compares the cells of masks
};

}  // namespace maskctl::step
