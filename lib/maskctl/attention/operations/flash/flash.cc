#include "maskctl/attention/operations/flash/flash.h"

namespace maskctl::attention {

SoftmaxResult flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                              const FlashAttentionOptions& o) {
  return masked_forward({&query, &key, &value, nullptr, o.bias, o.softmax_aux}, o.mask, o.softmax);
}

SoftmaxGradients flash_attention_backward(const Tensor& query, const Tensor& key,
                                          const Tensor& value, const SoftmaxResult& forward,
                                          const Tensor& d_out, const FlashAttentionOptions& o,
                                          const Tensor* d_lse) {
  return masked_backward({&query, &key, &value, nullptr, o.bias, o.softmax_aux}, o.mask, forward,
                         d_out, o.softmax, d_lse);
}

}  // namespace maskctl::attention
