// ejkernel's scaled_dot_product_attention: plain softmax attention, the baseline of the others.
#pragma once

#include <functional>
#include <optional>

#include "maskctl/attention/softmax/mask_arguments.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// The seed's parameters; every tensor may be absent. Logits are scale * q.k + bias.
struct ScaledDotProductAttentionOptions {
  const Tensor* bias = nullptr;  // [B or 1, Hq or 1, Tq or 1, Tk or 1]
  /// Lengths [B]. The seed calls them cum_seqlens_q and cum_seqlens_k although it takes lengths.
  const Tensor* query_lengths = nullptr;
  const Tensor* key_lengths = nullptr;
  const Tensor* attention_mask = nullptr;  // see MaskArguments
  const MaskInfo* mask_info = nullptr;
  const Mask* mask = nullptr;
  /// Makes the bias when none is given; called once in each pass.
  std::function<Tensor()> init_bias;
  std::optional<double> softmax_scale;  // 1 / sqrt(D)
  bool causal = false;
  std::optional<Window> sliding_window;
  Align causal_alignment = Align::kTopLeft;  // of causal and sliding_window
  EmptyRow empty_row = EmptyRow::kZero;
  Backend backend = Backend::kCpu;
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
