// scaled_dot_product_attention: plain softmax attention, the baseline of the others.
#pragma once

#include <functional>

#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {

/// Lengths [B] are mask.query_lengths and mask.key_lengths;
/// they are lengths, not cumulative ones.
struct ScaledDotProductAttentionOptions : DenseOptions {
  /// Makes the bias when none is given; called once in each pass.
  std::function<Tensor()> init_bias;
};

/// query [B,Tq,Hq,D], key and value [B,Tk,Hkv,D] -> out [B,Tq,Hq,D]. Queries past query_lengths are
/// 0. Throws what softmax_forward and compose throw, before any work.
SoftmaxResult scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                           const Tensor& value,
                                           const ScaledDotProductAttentionOptions& options = {});

/// Gradients of sum(out * d_out) for query, key, value, and the bias where there is one. `forward`
/// is what the same inputs and options gave.
SoftmaxGradients scaled_dot_product_attention_backward(
    const Tensor& query, const Tensor& key, const Tensor& value, const SoftmaxResult& forward,
    const Tensor& d_out, const ScaledDotProductAttentionOptions& options = {});

}  // namespace maskctl::attention
