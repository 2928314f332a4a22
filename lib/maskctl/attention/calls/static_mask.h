// A mask that replaces the mask rules of an operation.
#pragma once

#include <memory>

#include "maskctl/mask/mask.h"

namespace maskctl::attention {

/// [1, 1 or Hq, Tq, Tk]; replaces causal, window and the other mask rules of the operation. Null:
/// no such mask.
using StaticMask = std::shared_ptr<const Mask>;

}  // namespace maskctl::attention
