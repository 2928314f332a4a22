// Boxes of arrays as the copy engine of Hopper GPUs takes them.
#pragma once

#include <cuda.h>

#include "maskctl/attention/cuda/softmax/params.h"

namespace maskctl::attention::cuda::hopper {

/// Why the copy engine cannot read the array, as in "steps of 20 bytes are no multiple of 16";
/// empty when it can: 16-bit elements, begin and strides at multiples of 16 bytes.
std::string unreadable(const HeadsView& array);

/// Boxes of 64 columns x `rows` tokens of an array [B,T,H,D] of 16-bit elements, swizzled by 128
/// bytes (layout.h). Coordinates: column, token, head, batch.
CUtensorMap tensor_map(const HeadsView& array, Index batch, Index tokens, Index heads, Index dim,
                       int rows);

}  // namespace maskctl::attention::cuda::hopper
