// Softmax attention: checks a call and runs its kernels.
#include "maskctl/attention/softmax/softmax.h"

#include "maskctl/attention/softmax/checked.h"
#include "maskctl/attention/softmax/run.h"

namespace maskctl::attention {

SoftmaxResult softmax_forward(const SoftmaxInputs& inputs, const SoftmaxOptions& options) {
  return softmax_forward(checked_softmax(inputs, options), options.context);
}

Tensor softmax_weights(const SoftmaxInputs& inputs, const SoftmaxOptions& options) {
  return softmax_weights(checked_softmax(inputs, options), options.context);
}

SoftmaxGradients softmax_backward(const SoftmaxInputs& inputs, const SoftmaxResult& forward,
                                  const Tensor& d_out, const SoftmaxOptions& options,
                                  const Tensor* d_lse) {
  return softmax_backward(checked_softmax(inputs, options), forward, d_out, d_lse, options.context);
}

}  // namespace maskctl::attention
