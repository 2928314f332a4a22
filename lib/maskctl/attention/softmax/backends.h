// The implementations behind softmax_forward and softmax_backward; inputs are already checked.
#pragma once

#include "maskctl/attention/softmax/dims.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

SoftmaxResult reference_forward(const SoftmaxInputs& inputs, const SoftmaxOptions& options,
                                const Dims& dims);
SoftmaxGradients reference_backward(const SoftmaxInputs& inputs, const Tensor& d_out,
                                    const SoftmaxOptions& options, const Tensor* d_lse,
                                    const Dims& dims);

SoftmaxResult cpu_forward(const SoftmaxInputs& inputs, const SoftmaxOptions& options,
                          const Dims& dims);
SoftmaxGradients cpu_backward(const SoftmaxInputs& inputs, const SoftmaxResult& forward,
                              const Tensor& d_out, const SoftmaxOptions& options,
                              const Tensor* d_lse, const Dims& dims);

/// All cells open, [1,1,Q,K].
Mask open_mask(Index queries, Index keys);

/// [B,Hq,Tq,Tk] f32: the weights that multiply V (dropout not applied), 1 / Tk in rows that are
/// empty under kMean. The one output of size Tq x Tk.
Tensor softmax_weights(const SoftmaxInputs& inputs, const SoftmaxOptions& options);
Tensor reference_weights(const SoftmaxInputs& inputs, const SoftmaxOptions& options,
                         const Dims& dims);
Tensor cpu_weights(const SoftmaxInputs& inputs, const SoftmaxOptions& options, const Dims& dims);

}  // namespace maskctl::attention
