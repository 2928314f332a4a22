// How boxes of arrays are described to the copy engine of Hopper GPUs.
#pragma once

#include <cuda.h>

#include "maskctl/attention/cuda/heads_view.h"

namespace maskctl::attention::cuda::hopper {

/// Why the copy engine cannot read the array, for example "steps of 20 bytes are no multiple of
/// 16"; empty when it can. It needs 16-bit elements, and a begin and strides at multiples of 16
/// bytes.
std::string unreadable(const HeadsView& array);

/// The map of an array [B,T,H,D] of 16-bit elements, in boxes of 64 columns x `rows` tokens,
/// swizzled by 128 bytes (layout.h). Its coordinates are column, token, head, batch.
CUtensorMap tensor_map(const HeadsView& array, Index batch, Index tokens, Index heads, Index dim,
                       int rows);

}  // namespace maskctl::attention::cuda::hopper
