// Softmax attention with mask arguments, on which the dense operations are based.
#pragma once

#include <functional>

#include "maskctl/attention/softmax/dense_options.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// The bias of a call: the given one, or else the one that `make` returns.
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

/// softmax_forward with the composed mask; ignores inputs.mask. Void queries (see ComposedMask) get
/// out 0 and lse -inf (with sinks, the lse of the sinks).
SoftmaxResult masked_forward(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                             const SoftmaxOptions& options);

/// The gradients of masked_forward; ignores d_out and d_lse of void queries (see ComposedMask).
SoftmaxGradients masked_backward(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                                 const SoftmaxResult& forward, const Tensor& d_out,
                                 const SoftmaxOptions& options, const Tensor* d_lse = nullptr);

/// Sets the void queries of an array to zero: those from query_ends[b] on (see ComposedMask). Axis
/// number `axis` of the array is that of queries.
void clear_void(const std::vector<Index>& query_ends, Index axis, Tensor& x);

/// softmax_weights with the composed mask; rows of void queries (see ComposedMask) are 0.
Tensor masked_weights(const SoftmaxInputs& inputs, const MaskArguments& arguments,
                      const SoftmaxOptions& options);

}  // namespace maskctl::attention
