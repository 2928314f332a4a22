// How a mask is made: the steps, and the mask that they start from.
#pragma once

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// apply(start, chain) is the mask.
struct MaskSteps {
  Mask start;
  Chain chain;
};

}  // namespace maskctl
