// A mask that takes the place of the rules of an operation.
#pragma once

#include <memory>

#include "maskctl/mask/mask.h"

namespace maskctl::attention {

/// [1, 1 or Hq, Tq, Tk], in place of the rules that an operation has by itself; null: none.
using StaticMask = std::shared_ptr<const Mask>;

}  // namespace maskctl::attention
