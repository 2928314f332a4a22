// Attention with its weights over the shared core.
#include "maskctl/attention/operations/attention/attention.h"

#include <algorithm>

#include "maskctl/attention/softmax/head_groups.h"
#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {
namespace {

/// The call as the core takes it; holds the bias that was made for it.
struct Call {
  Call(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& o) {
    set_bias(query, key, o);
    inputs.query = &query, inputs.key = &key, inputs.value = &value;
    inputs.sinks = o.softmax_aux;
    if (!inputs.bias || o.mask_with_bias == MaskWithBias::kAnd) {
      mask.attention_mask = o.attention_mask;
      mask.mask_info = o.mask_info;
      mask.mask = o.mask;
    }
    mask.causal = o.causal;
    mask.window = o.sliding_window;
    mask.align = o.causal_alignment;
    softmax.scale = o.softmax_scale;
    softmax.soft_cap = o.logits_soft_cap;
    softmax.bias_order = BiasOrder::kAfterCap;
    softmax.empty_row = o.empty_row;
    softmax.dropout = o.deterministic ? 0 : o.dropout_prob;
    softmax.dropout_seed = o.dropout_rng;
    softmax.first_batch = o.first_batch;
    softmax.first_head = o.first_head;
    softmax.backend = o.backend;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::optional<Tensor> made_bias;
  Index bias_heads = 0;  // key heads when the bias was given for those, else 0
  SoftmaxInputs inputs;
  MaskArguments mask;
  SoftmaxOptions softmax;

 private:
  void set_bias(const Tensor& query, const Tensor& key, const AttentionOptions& o) {
    if (!o.bias && o.init_bias) made_bias = o.init_bias();
    inputs.bias = made_bias ? &*made_bias : o.bias;
    if (!inputs.bias || inputs.bias->rank() != 4 || query.rank() != 4 || key.rank() != 4) return;
    const Index q_heads = query.extent(2), kv_heads = key.extent(2), heads = inputs.bias->extent(1);
    if (heads != kv_heads || heads == 1 || heads == q_heads || q_heads % kv_heads != 0) return;
    made_bias = repeat_heads(*inputs.bias, q_heads / kv_heads);
    inputs.bias = &*made_bias;
    bias_heads = kv_heads;
  }
};

}  // namespace

AttentionResult attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options) {
  const Call call(query, key, value, options);
  SoftmaxResult result = masked_forward(call.inputs, call.mask, call.softmax);
  return {std::move(result.out), masked_weights(call.inputs, call.mask, call.softmax),
          std::move(result.lse)};
}

SoftmaxGradients attention_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionResult& forward, const Tensor& d_out,
                                    const AttentionOptions& options) {
  const Call call(query, key, value, options);
  SoftmaxGradients gradients =
      masked_backward(call.inputs, call.mask, {forward.out, forward.lse}, d_out, call.softmax);
  if (call.bias_heads > 0) gradients.bias = sum_head_groups(*gradients.bias, call.bias_heads);
  return gradients;
}

}  // namespace maskctl::attention
