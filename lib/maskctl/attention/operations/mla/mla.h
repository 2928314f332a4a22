// mla_attention: latent attention (MLA), whose keys and values are computed from a low-rank latent.
#pragma once

#include <optional>

#include "maskctl/attention/softmax/mask_arguments.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// If unset, softmax.scale is 1 / sqrt(D + P). The tile hints of `softmax` also apply to the matrix
/// products that compute keys and values.
struct MlaAttentionOptions {
  const Tensor* b_q = nullptr;         // [B,Tq,P]: rotary part, equal for all heads
  const Tensor* b_k = nullptr;         // [B,Tk,P]; give both or neither
  const Tensor* cu_seqlens = nullptr;  // [N+1], for queries and keys: see MaskArguments
  MaskArguments mask;
  SoftmaxOptions softmax;
};

/// query [B,Tq,Hq,D], key_value [B,Tk,R] (the latent), w_kc [R,Hkv,D], w_vc [R,Hkv,Dv]; all of one
/// dtype.
///   key = key_value w_kc, value = key_value w_vc, logits = scale * (q.k + b_q.b_k)
/// -> out [B,Tq,Hq,Dv]. Computed in f32 and rounded once at the end; a GPU rounds keys and values
/// too. Throws Error(kShape, kInvalidArgument) before any work.
SoftmaxResult mla_attention(const Tensor& query, const Tensor& key_value, const Tensor& w_kc,
                            const Tensor& w_vc, const MlaAttentionOptions& options = {});

struct MlaGradients {
  Tensor query, key_value, w_kc, w_vc;
  std::optional<Tensor> b_q, b_k;
};

/// Gradients of sum(out * d_out). `forward` is the result for the same inputs and options.
MlaGradients mla_attention_backward(const Tensor& query, const Tensor& key_value,
                                    const Tensor& w_kc, const Tensor& w_vc,
                                    const SoftmaxResult& forward, const Tensor& d_out,
                                    const MlaAttentionOptions& options = {});

}  // namespace maskctl::attention
