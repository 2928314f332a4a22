// Softmax attention under mask-like arguments: what the dense operations share.
#pragma once

#include <functional>

#include "maskctl/attention/softmax/mask_arguments.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// What the operations of the dense family take besides query, key and value. Logits are
/// cap(scale * q.k + bias), or cap(scale * q.k) + bias where the operation says so.
struct DenseOptions {
  const Tensor* bias = nullptr;         // [B or 1, Hq or 1, Tq or 1, Tk or 1]
  const Tensor* softmax_aux = nullptr;  // sinks: [n], or [Hq, n] or [Hkv, n]
  MaskArguments mask;
  SoftmaxOptions softmax;
};

/// The bias of a call: the one that is given, or what `make` gives.
class MadeBias {
 public:
  MadeBias(const Tensor* given, const std::function<Tensor()>& make) : given_(given) {
    if (!given && make) made_ = make();
  }
  const Tensor* get() const { return made_ ? &*made_ : given_; }

 private:
  const Tensor* given_;
  std::optional<Tensor> made_;
};

/// softmax_forward with the composed mask; void queries get out 0, lse -inf (or, with sinks, the
/// lse of the sinks alone). inputs.mask is ignored.
SoftmaxResult masked_forward(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                             const SoftmaxOptions& options);

/// Its gradients; d_out and d_lse of void queries are ignored.
SoftmaxGradients masked_backward(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                                 const SoftmaxResult& forward, const Tensor& d_out,
                                 const SoftmaxOptions& options, const Tensor* d_lse = nullptr);

/// softmax_weights with the composed mask; rows of void queries are 0.
Tensor masked_weights(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                      const SoftmaxOptions& options);

}  // namespace maskctl::attention
