// flash_attention: exact attention in O(T) memory, for training.
#pragma once

#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {

/// cum_seqlens, segment ids, causal and sliding_window are in `mask`; softmax.bias_order may have
/// either value. With softmax.normalize = false there are no gradients.
using FlashAttentionOptions = DenseOptions;

/// query [B,Tq,Hq,D], key [B,Tk,Hkv,D], value [B,Tk,Hkv,Dv] -> out [B,Tq,Hq,Dv] in the dtype of the
/// query, and lse. Throws what softmax_forward and compose throw, before any work.
SoftmaxResult flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                              const FlashAttentionOptions& options = {});

/// Gradients of sum(out * d_out) + sum(lse * d_lse) for query, key, value, bias and softmax_aux.
/// Dropout repeats the choices of the forward pass. `forward` is the result for the same inputs and
/// options.
SoftmaxGradients flash_attention_backward(const Tensor& query, const Tensor& key,
                                          const Tensor& value, const SoftmaxResult& forward,
                                          const Tensor& d_out,
                                          const FlashAttentionOptions& options = {},
                                          const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
