// Flash attention over the shared core.
#include "maskctl/attention/operations/flash/flash.h"

#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {
namespace {

MaskArguments mask_of(const FlashAttentionOptions& o) {
  MaskArguments mask;
  mask.attention_mask = o.attention_mask;
  mask.mask_info = o.mask_info;
  mask.mask = o.mask;
  mask.causal = o.causal;
  mask.window = o.sliding_window;
  mask.align = o.causal_alignment;
  mask.cum_seqlens_q = o.cum_seqlens_q;
  mask.cum_seqlens_k = o.cum_seqlens_k;
  mask.q_segment_ids = o.q_segment_ids;
  mask.kv_segment_ids = o.kv_segment_ids;
  return mask;
}

SoftmaxOptions softmax_of(const FlashAttentionOptions& o) {
  SoftmaxOptions softmax;
  softmax.scale = o.softmax_scale;
  softmax.soft_cap = o.logits_soft_cap;
  softmax.bias_order = BiasOrder::kBeforeCap;
  softmax.empty_row = o.empty_row;
  softmax.dropout = o.dropout_prob;
  softmax.dropout_seed = o.dropout_seed;
  softmax.first_batch = o.first_batch;
  softmax.first_head = o.first_head;
  softmax.normalize = o.normalize_output;
  softmax.backend = o.backend;
  softmax.q_block = o.q_blocksize;
  softmax.k_block = o.kv_blocksize;
  return softmax;
}

}  // namespace

SoftmaxResult flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                              const FlashAttentionOptions& o) {
  return masked_forward({&query, &key, &value, nullptr, o.bias, o.softmax_aux}, mask_of(o),
                        softmax_of(o));
}

SoftmaxGradients flash_attention_backward(const Tensor& query, const Tensor& key,
                                          const Tensor& value, const SoftmaxResult& forward,
                                          const Tensor& d_out, const FlashAttentionOptions& o,
                                          const Tensor* d_lse) {
  return masked_backward({&query, &key, &value, nullptr, o.bias, o.softmax_aux}, mask_of(o),
                         forward, d_out, softmax_of(o), d_lse);
}

}  // namespace maskctl::attention
