// ring_attention: devices that hold queries pass each other the keys and values.
#pragma once

#include "maskctl/attention/ring/rank.h"

namespace maskctl::attention {

/// Whole sequences: query [B,Tq,Hq,D], key [B,Tk,Hkv,D], value [B,Tk,Hkv,Dv] -> out [B,Tq,Hq,Dv],
/// equal to one device. With ring_size n rank a holds queries [a, a + 1) * Tq / n and keys
/// likewise. Throws what softmax_forward and compose throw, and Error(kShape) for extents that n
/// does not divide, before any work.
SoftmaxResult ring_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const RingAttentionOptions& options = {});

/// Gradients of sum(out * d_out) + sum(lse * d_lse) for query, key, value, bias and softmax_aux.
SoftmaxGradients ring_attention_backward(const Tensor& query, const Tensor& key,
                                         const Tensor& value, const SoftmaxResult& forward,
                                         const Tensor& d_out,
                                         const RingAttentionOptions& options = {},
                                         const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
