// Arrays [B,H,...] with one entry for each key head or for each query head.
#pragma once

#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Repeats each head `group` times: [B,H,...] -> [B,H * group,...], where entry h * group + g is a
/// copy of entry h.
Tensor repeat_heads(const Tensor& x, Index group);
/// The gradient of repeat_heads(): [B,H * group,...] -> [B,H,...], summed in f64 and rounded once.
Tensor sum_head_groups(const Tensor& x, Index heads);

/// Swaps the axes of heads and time: [B,S,H,D] <-> [B,H,S,D]. Throws Error(kShape) unless the rank
/// is 4; `what` names the array.
Tensor swap_heads_and_time(const Tensor& x, const char* what);

}  // namespace maskctl::attention
