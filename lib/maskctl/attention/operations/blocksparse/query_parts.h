// Attention of one part of the queries after another, as devices that share a sequence do.
#pragma once

#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// softmax_forward for each of `parts` equal ranges of the queries, each with all keys, put
/// together. Throws what that throws, Error(kInvalidArgument) for parts below 1 and Error(kShape)
/// where they do not divide the queries.
SoftmaxResult forward_in_parts(const SoftmaxInputs& inputs, const SoftmaxOptions& options,
                               Index parts);

/// Its gradients; those of what all parts read are summed in f32.
SoftmaxGradients backward_in_parts(const SoftmaxInputs& inputs, const SoftmaxResult& forward,
                                   const Tensor& d_out, const SoftmaxOptions& options,
                                   const Tensor* d_lse, Index parts);

}  // namespace maskctl::attention
