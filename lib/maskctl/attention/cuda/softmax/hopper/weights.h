// The weights of softmax attention on the tensor cores of Hopper GPUs: 16-bit arrays, head
// dimensions up to 256, any mask.
#pragma once

#include <string>

#include "maskctl/attention/cuda/softmax/params.h"

namespace maskctl::attention::cuda::hopper {

/// Why this kernel cannot take a call whose arrays are on the GPU, as in "a bias or a soft cap";
/// empty when it can.
std::string unsupported_weights(const SoftmaxParams& p);

/// Writes the lse of each row, [B,Hq,Tq], without computing outputs.
void row_lse(const SoftmaxParams& p, float* lse, Stream stream);
/// Writes every element of `out` [B,Hq,Tq,Tk]. `lse`: as softmax_forward() or row_lse() writes it.
void weights(const SoftmaxParams& p, const float* lse, float* out, Stream stream);

}  // namespace maskctl::attention::cuda::hopper
