// Sums of what the walks of one call wrote apart.
#pragma once

#include "maskctl/attention/cuda/linear/arrays.h"

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
