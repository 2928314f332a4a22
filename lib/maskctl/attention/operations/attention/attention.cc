// Dense attention by means of masked_forward; also returns the attention weights.
#include "maskctl/attention/operations/attention/attention.h"

#include <algorithm>

#include "maskctl/attention/softmax/head_groups.h"
#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {
namespace {

/// The arguments of masked_forward for a call; owns the bias that was made for it.
struct DenseCall {
  DenseCall(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& o)
      : made_bias(o.bias, o.init_bias), mask(o.mask), softmax(o.softmax) {
    inputs = {&query, &key, &value, nullptr, made_bias.get(), o.softmax_aux};
    repeat_bias();
    if (inputs.bias && o.mask_with_bias == MaskWithBias::kIgnore) {
      mask.attention_mask = nullptr, mask.mask = nullptr;
    }
    softmax.bias_order = BiasOrder::kAfterCap;
    if (o.deterministic) softmax.dropout = 0;
  }
  DenseCall(const DenseCall&) = delete;
  DenseCall& operator=(const DenseCall&) = delete;

  MadeBias made_bias;
  std::optional<Tensor> repeated_bias;
  Index bias_heads = 0;  // Hkv if the bias has one plane per key head, else 0
  SoftmaxInputs inputs;
  MaskArguments mask;
  SoftmaxOptions softmax;

 private:
  /// Repeats the plane of each key head of the bias for all query heads that share it.
  void repeat_bias() {
    if (!inputs.bias || inputs.bias->rank() != 4) return;
    if (inputs.query->rank() != 4 || inputs.key->rank() != 4) return;
    const Index q_heads = inputs.query->extent(2), kv_heads = inputs.key->extent(2);
    const Index heads = inputs.bias->extent(1);
    if (heads != kv_heads || heads == 1 || heads == q_heads || q_heads % kv_heads != 0) return;
    repeated_bias = repeat_heads(*inputs.bias, q_heads / kv_heads);
    inputs.bias = &*repeated_bias;
    bias_heads = kv_heads;
  }
};

}  // namespace

AttentionResult attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options) {
  const DenseCall call(query, key, value, options);
  SoftmaxResult result = masked_forward(call.inputs, call.mask, call.softmax);
  return {std::move(result.out), masked_weights(call.inputs, call.mask, call.softmax),
          std::move(result.lse)};
}

SoftmaxGradients attention_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionResult& forward, const Tensor& d_out,
                                    const AttentionOptions& options) {
  const DenseCall call(query, key, value, options);
  SoftmaxGradients gradients =
      masked_backward(call.inputs, call.mask, {forward.out, forward.lse}, d_out, call.softmax);
  if (call.bias_heads > 0) gradients.bias = sum_head_groups(*gradients.bias, call.bias_heads);
  return gradients;
}

}  // namespace maskctl::attention
