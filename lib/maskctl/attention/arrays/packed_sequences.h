// Sequences back to back on one axis of tokens.
#pragma once

#include <vector>

#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// The tokens of each sequence of cumulative lengths [N+1]: nondecreasing integers that start at 0
/// and end at `tokens` or before. Throws Error(kShape, kInvalidArgument) naming the array
/// otherwise.
std::vector<Range> packed_sequences(const Tensor& cu_seqlens, Index tokens,
                                    const char* what = "cu_seqlens");

}  // namespace maskctl::attention
