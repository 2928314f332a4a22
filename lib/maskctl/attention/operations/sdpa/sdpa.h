// scaled_dot_product_attention: plain softmax attention, the baseline for the other operations.
#pragma once

#include <functional>

#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {

/// mask.query_lengths and mask.key_lengths are lengths [B] of each batch row, not cumulative.
struct ScaledDotProductAttentionOptions : DenseOptions {
  /// Makes the bias if none is given; called once in the forward and once in the backward pass.
  std::function<Tensor()> init_bias;
};

/// query [B,Tq,Hq,D], key and value [B,Tk,Hkv,D] -> out [B,Tq,Hq,D]. Queries at or past
/// query_lengths have out 0. Throws what softmax_forward and compose throw, before any work.
SoftmaxResult scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                           const Tensor& value,
                                           const ScaledDotProductAttentionOptions& options = {});

/// Gradients of sum(out * d_out) for query, key, value and, if given, bias. `forward` is the result
/// for the same inputs and options.
SoftmaxGradients scaled_dot_product_attention_backward(
    const Tensor& query, const Tensor& key, const Tensor& value, const SoftmaxResult& forward,
    const Tensor& d_out, const ScaledDotProductAttentionOptions& options = {});

}  // namespace maskctl::attention
