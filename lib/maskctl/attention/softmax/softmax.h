// Softmax attention over a lazy mask, on which every dense operation is based.
#pragma once

#include "maskctl/attention/problems/softmax_options.h"
#include "maskctl/attention/softmax/softmax_arrays.h"

namespace maskctl::attention {

/// Throws Error(kShape, kInvalidArgument) before any work: ranks and extents that do not fit, Hq
/// not divisible by Hkv, mixed dtypes, a soft cap that is not above 0, dropout outside [0, 1).
SoftmaxResult softmax_forward(const SoftmaxInputs& inputs, const SoftmaxOptions& options = {});

/// Returns [B,Hq,Tq,Tk] f32: the weights that multiply V, without dropout; 1 / Tk in rows that are
/// empty under kMean. This is the only output of size Tq x Tk.
Tensor softmax_weights(const SoftmaxInputs& inputs, const SoftmaxOptions& options);

/// Gradients of sum(out * d_out), plus sum(lse * d_lse) if d_lse is given. `forward` is the result
/// of softmax_forward for the same inputs and options; dropout repeats its choices from the seed.
SoftmaxGradients softmax_backward(const SoftmaxInputs& inputs, const SoftmaxResult& forward,
                                  const Tensor& d_out, const SoftmaxOptions& options = {},
                                  const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
