#include "maskctl/attention/operations/sdpa/sdpa.h"

namespace maskctl::attention {

SoftmaxResult scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                           const Tensor& value,
                                           const ScaledDotProductAttentionOptions& o) {
  const MadeBias bias(o.bias, o.init_bias);
  return masked_forward({&query, &key, &value, nullptr, bias.get(), o.softmax_aux}, o.mask,
                        o.softmax);
}

SoftmaxGradients scaled_dot_product_attention_backward(const Tensor& query, const Tensor& key,
                                                       const Tensor& value,
                                                       const SoftmaxResult& forward,
                                                       const Tensor& d_out,
                                                       const ScaledDotProductAttentionOptions& o) {
  const MadeBias bias(o.bias, o.init_bias);
  return masked_backward({&query, &key, &value, nullptr, bias.get(), o.softmax_aux}, o.mask,
                         forward, d_out, o.softmax);
}

}  // namespace maskctl::attention
