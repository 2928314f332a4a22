// not: opens what is closed and closes what is open.
#pragma once

#include "maskctl/mask/steps/named_array.h"

namespace maskctl::step {

struct Not {
  friend bool operator==(const Not&, const Not&) = default;
};

}  // namespace maskctl::step
