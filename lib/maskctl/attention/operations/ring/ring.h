// ring_attention: each device holds a part of the queries, and keys and values are passed around.
#pragma once

#include "maskctl/attention/ring/rank.h"

namespace maskctl::attention {

/// Takes whole sequences: query [B,Tq,Hq,D], key [B,Tk,Hkv,D], value [B,Tk,Hkv,Dv] -> out
/// [B,Tq,Hq,Dv], the same as on one device. With ring_size n, rank a holds the keys [a, a + 1) * Tk
/// / n and, unless `assign` says otherwise, the queries [a, a + 1) * Tq / n. Throws what
/// softmax_forward and compose throw, and Error(kShape) for lengths that n does not divide, before
/// any work.
SoftmaxResult ring_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const RingAttentionOptions& options = {});

/// Gradients of sum(out * d_out) + sum(lse * d_lse) for query, key, value, bias and softmax_aux.
SoftmaxGradients ring_attention_backward(const Tensor& query, const Tensor& key,
                                         const Tensor& value, const SoftmaxResult& forward,
                                         const Tensor& d_out,
                                         const RingAttentionOptions& options = {},
                                         const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
