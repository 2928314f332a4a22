// and, or, xor and sub: combine the mask with another one.
#pragma once

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/named_array.h"

namespace maskctl::step {

struct Combine {
  Op op = Op::kAnd;
  Mask mask = {};
  std::string text = {};                                       // its SOURCE
  friend bool operator==(const Combine& a, const Combine& b);  // equal cells
};

}  // namespace maskctl::step
