// Arrays with heads on axis 1: one entry for each key head, or for each query head.
#pragma once

#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// [B,H,...] -> [B,H * group,...]: entry h * group + g is entry h.
Tensor repeat_heads(const Tensor& x, Index group);
/// Its transpose: [B,H * group,...] -> [B,H,...], sums in f64, rounded once.
Tensor sum_head_groups(const Tensor& x, Index heads);

/// [B,S,H,D] <-> [B,H,S,D]. Throws Error(kShape) for another rank; `what` names the array.
Tensor swap_heads_and_time(const Tensor& x, const char* what);

}  // namespace maskctl::attention
