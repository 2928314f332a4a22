// Adds up the partial results that a walk writes for each slice and head.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/elements.h"

namespace maskctl::attention::cuda {

/// out [tokens, heads / group, width] = partial [slices, tokens, heads, width], summed over the
/// slices and over the heads of each group, in order.
struct LinearSum {
  const float* partial = nullptr;
  Index slices = 1, tokens = 0, heads = 0, group = 1, width = 0;
  AnyResult out;
};

void add_up(Workspace& workspace, const LinearSum& sum);

}  // namespace maskctl::attention::cuda
