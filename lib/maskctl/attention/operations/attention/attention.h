// attention: dense attention that also returns its weights.
#pragma once

#include <cstdint>
#include <functional>

#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {

/// What becomes of the boolean masks when a bias is given: they still hold, or are
/// ignored (causal and sliding_window are not).
enum class MaskWithBias : std::uint8_t { kAnd, kIgnore };

/// Logits are cap(scale * q.k) + bias; a bias may have key heads, [B or 1, Hkv, ...].
/// Logits are f32 (f64 in the reference).
struct AttentionOptions : DenseOptions {
  /// Makes the bias when none is given; called once in each pass.
  std::function<Tensor()> init_bias;
  bool deterministic = true;  // false: weights are dropped with softmax.dropout
  MaskWithBias mask_with_bias = MaskWithBias::kAnd;
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

/// Gradients of sum(out * d_out): those of `out` alone. A bias for each
/// key head gets its gradient in that shape.
SoftmaxGradients attention_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionResult& forward, const Tensor& d_out,
                                    const AttentionOptions& options = {});

}  // namespace maskctl::attention
