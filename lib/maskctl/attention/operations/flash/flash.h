// ejkernel's flash_attention: exact attention in O(T) memory, for training.
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/softmax/mask_arguments.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// The seed's parameters; every tensor may be absent. Logits are cap(scale * q.k + bias).
struct FlashAttentionOptions {
  const Tensor* bias = nullptr;  // [B or 1, Hq or 1, Tq or 1, Tk or 1]
  /// [N+1], padded or packed: see MaskArguments.
  const Tensor* cum_seqlens_q = nullptr;
  const Tensor* cum_seqlens_k = nullptr;
  const Tensor* softmax_aux = nullptr;     // sinks: [n], or [Hq, n] or [Hkv, n]
  const Tensor* attention_mask = nullptr;  // see MaskArguments
  const Tensor* q_segment_ids = nullptr;   // [B,Tq], negative = padding
  const Tensor* kv_segment_ids = nullptr;
  const MaskInfo* mask_info = nullptr;
  const Mask* mask = nullptr;
  std::optional<double> softmax_scale;  // 1 / sqrt(D)
  double dropout_prob = 0;
  std::uint64_t dropout_seed = 0;
  /// Where this call stands in one of which it is a part; dropout alone depends on it.
  Index first_batch = 0, first_head = 0;
  bool causal = false;
  std::optional<Window> sliding_window;
  std::optional<double> logits_soft_cap;
  /// false: out = sum_j exp(s_j - max_j s_j) v_j. Forward only.
  bool normalize_output = true;
  /// kUnset: top-left, and bottom-right inside each sequence of cum_seqlens.
  Align causal_alignment = Align::kUnset;
  EmptyRow empty_row = EmptyRow::kZero;
  Index q_blocksize = 0, kv_blocksize = 0;  // hints; 0 = our choice; never change the result
  Backend backend = Backend::kCpu;
};

/// query [B,Tq,Hq,D], key [B,Tk,Hkv,D], value [B,Tk,Hkv,Dv] -> out [B,Tq,Hq,Dv] in the dtype of the
/// query, and lse. Throws what softmax_forward and compose throw, before any work.
SoftmaxResult flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                              const FlashAttentionOptions& options = {});

/// Gradients of sum(out * d_out) + sum(lse * d_lse) for query, key, value, bias and softmax_aux;
/// dropout is replayed. `forward` is what the same inputs and options gave.
SoftmaxGradients flash_attention_backward(const Tensor& query, const Tensor& key,
                                          const Tensor& value, const SoftmaxResult& forward,
                                          const Tensor& d_out,
                                          const FlashAttentionOptions& options = {},
                                          const Tensor* d_lse = nullptr);

}  // namespace maskctl::attention
