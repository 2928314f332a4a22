// ejkernel's attention: dense attention that also returns its weights.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "maskctl/attention/softmax/mask_arguments.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// What becomes of the boolean masks when a bias is given: they still hold, or, as in the seed, are
/// ignored (causal and sliding_window are not).
enum class MaskWithBias : std::uint8_t { kAnd, kIgnore };

/// The seed's parameters; every tensor may be absent. Logits are cap(scale * q.k) + bias. The
/// seed's dtype and softmax_dtype have no part: logits are f32 (f64 in the reference).
struct AttentionOptions {
  const Tensor* bias = nullptr;            // [B or 1, 1 or Hkv or Hq, Tq or 1, Tk or 1]
  const Tensor* softmax_aux = nullptr;     // sinks: [n], or [Hkv, n] or [Hq, n]
  const Tensor* attention_mask = nullptr;  // see MaskArguments
  const MaskInfo* mask_info = nullptr;
  const Mask* mask = nullptr;
  /// Makes the bias when none is given; called once in each pass.
  std::function<Tensor()> init_bias;
  bool deterministic = true;  // false: weights are dropped with dropout_prob
  double dropout_prob = 0;
  std::uint64_t dropout_rng = 0;  // seed
  /// Where this call stands in one of which it is a part; dropout alone depends on it.
  Index first_batch = 0, first_head = 0;
  std::optional<double> softmax_scale;  // 1 / sqrt(D)
  std::optional<double> logits_soft_cap;
  bool causal = false;
  std::optional<Window> sliding_window;
  Align causal_alignment = Align::kTopLeft;
  MaskWithBias mask_with_bias = MaskWithBias::kAnd;
  EmptyRow empty_row = EmptyRow::kZero;
  Backend backend = Backend::kCpu;
};

struct AttentionResult {
  Tensor out;      // [B,Tq,Hq,Dv] in the dtype of the query
  Tensor weights;  // [B,Hq,Tq,Tk] f32, before dropout; without the columns of the sinks
  Tensor lse;      // [B,Hq,Tq] f32
};

/// query [B,Tq,Hq,D], key [B,Tk,Hkv,D], value [B,Tk,Hkv,Dv]. The weights are the one output of size
/// Tq x Tk. Throws what softmax_forward and compose throw, before any work.
AttentionResult attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options = {});

/// Gradients of sum(out * d_out): those of `out` alone, as in the seed's training. A bias for each
/// key head gets its gradient in that shape.
SoftmaxGradients attention_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionResult& forward, const Tensor& d_out,
                                    const AttentionOptions& options = {});

}  // namespace maskctl::attention
