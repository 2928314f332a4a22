// Lightning attention: the recurrence with one fixed decay per head.
#pragma once

#include "maskctl/attention/operations/linear/recurrent.h"

namespace maskctl::attention {

/// As RecurrentAttentionInputs.
struct LightningAttentionInputs {
  const Tensor* query = nullptr;
  const Tensor* key = nullptr;
  const Tensor* value = nullptr;
  const Tensor* initial_state = nullptr;
  const Tensor* cu_seqlens = nullptr;
  /// ejkernel's decay: [H], or one number for all heads (rank 0, or [1]); the logarithm of what the
  /// state keeps per token.
  const Tensor* decay = nullptr;
};

/// Exactly one of inputs.decay and (layer_idx, num_layers) is given.
struct LightningAttentionOptions : RecurrentAttentionOptions {
  std::optional<Index> layer_idx;   // from 0
  std::optional<Index> num_layers;  // above layer_idx
};

/// [heads] f32: g_gamma[h] = -(8 / heads) * (1 - layer_idx / num_layers) * h; head 0 keeps all.
/// Throws Error(kInvalidArgument) unless 0 <= layer_idx < num_layers.
Tensor lightning_decay(Index heads, Index layer_idx, Index num_layers);

/// Throws what recurrent_attention throws, and kInvalidArgument for neither or both sources of the
/// decay.
LinearAttentionResult lightning_attention(const LightningAttentionInputs& inputs,
                                          const LightningAttentionOptions& options);
/// The decay is a constant: it has no gradient.
LinearAttentionGradients lightning_attention_backward(const LightningAttentionInputs& inputs,
                                                      const Tensor& d_out,
                                                      const LightningAttentionOptions& options,
                                                      const Tensor* d_final_state = nullptr);

}  // namespace maskctl::attention
