// Softmax attention under mask-like arguments: what the dense operations share.
#pragma once

#include "maskctl/attention/context.h"
#include "maskctl/attention/softmax/mask_arguments.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// softmax_forward with the composed mask; void queries get out 0, lse -inf (or, with sinks, the
/// lse of the sinks alone). inputs.mask is ignored.
SoftmaxResult masked_forward(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                             const SoftmaxOptions& options);

/// Its gradients; those of the outputs of void queries are ignored.
SoftmaxGradients masked_backward(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                                 const SoftmaxResult& forward, const Tensor& d_out,
                                 const SoftmaxOptions& options, const Tensor* d_lse = nullptr);

/// softmax_weights with the composed mask; rows of void queries are 0.
Tensor masked_weights(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                      const SoftmaxOptions& options);

}  // namespace maskctl::attention
