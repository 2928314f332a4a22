// Scaled dot product attention over the shared core.
#include "maskctl/attention/operations/sdpa/sdpa.h"

#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {
namespace {

using Options = ScaledDotProductAttentionOptions;

/// The call as the core takes it; holds the bias that init_bias made.
struct Call {
  Call(const Tensor& query, const Tensor& key, const Tensor& value, const Options& o) {
    if (!o.bias && o.init_bias) made_bias = o.init_bias();
    inputs = {.query = &query, .key = &key, .value = &value};
    inputs.bias = made_bias ? &*made_bias : o.bias;
    mask.attention_mask = o.attention_mask;
    mask.mask_info = o.mask_info;
    mask.mask = o.mask;
    mask.causal = o.causal;
    mask.window = o.sliding_window;
    mask.align = o.causal_alignment;
    mask.query_lengths = o.query_lengths;
    mask.key_lengths = o.key_lengths;
    softmax.scale = o.softmax_scale;
    softmax.empty_row = o.empty_row;
    softmax.backend = o.backend;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::optional<Tensor> made_bias;
  SoftmaxInputs inputs;
  MaskArguments mask;
  SoftmaxOptions softmax;
};

}  // namespace

SoftmaxResult scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                           const Tensor& value, const Options& options) {
  const Call call(query, key, value, options);
  return masked_forward(call.inputs, call.mask, call.softmax);
}

SoftmaxGradients scaled_dot_product_attention_backward(const Tensor& query, const Tensor& key,
                                                       const Tensor& value,
                                                       const SoftmaxResult& forward,
                                                       const Tensor& d_out,
                                                       const Options& options) {
  const Call call(query, key, value, options);
  return masked_backward(call.inputs, call.mask, forward, d_out, call.softmax);
}

}  // namespace maskctl::attention
