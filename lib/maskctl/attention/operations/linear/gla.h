// Gated linear attention: the recurrence with decays g and g_gamma only.
#pragma once

#include "maskctl/attention/operations/linear/recurrent.h"

namespace maskctl::attention {

/// As RecurrentAttentionInputs.
struct GlaAttentionInputs {
  const Tensor* query = nullptr;
  const Tensor* key = nullptr;
  const Tensor* value = nullptr;
  const Tensor* g = nullptr;
  const Tensor* g_gamma = nullptr;
  const Tensor* initial_state = nullptr;
  const Tensor* cu_seqlens = nullptr;
  const Tensor* gate = nullptr;  // another name of g: logarithms, log(sigmoid(x)) of sigmoid gates
};

using GlaAttentionOptions = RecurrentAttentionOptions;

/// Throws what recurrent_attention throws.
LinearAttentionResult gla_attention(const GlaAttentionInputs& inputs,
                                    const GlaAttentionOptions& options = {});
/// The gradient of `gate` is in g.
LinearAttentionGradients gla_attention_backward(const GlaAttentionInputs& inputs,
                                                const Tensor& d_out,
                                                const GlaAttentionOptions& options = {},
                                                const Tensor* d_final_state = nullptr);

}  // namespace maskctl::attention
