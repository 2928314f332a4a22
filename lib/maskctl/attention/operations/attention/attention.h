// attention: dense attention that also returns its weights.
#pragma once

#include <cstdint>
#include <functional>

#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {

/// What a bias does to the masks `attention_mask` and `mask`: kAnd keeps them, kIgnore ignores
/// them. Causal and sliding_window always apply.
enum class MaskWithBias : std::uint8_t { kAnd, kIgnore };

/// Logits are cap(scale * q.k) + bias, in f32 (f64 in the reference). A bias may also have one
/// plane per key head, [B or 1, Hkv, ...].
struct AttentionOptions : DenseOptions {
  /// Makes the bias if none is given; called once in the forward and once in the backward pass.
  std::function<Tensor()> init_bias;
  bool deterministic = true;  // true: no dropout; false: softmax.dropout applies
  MaskWithBias mask_with_bias = MaskWithBias::kAnd;
};

struct AttentionResult {
  Tensor out;      // [B,Tq,Hq,Dv] in the dtype of the query
  Tensor weights;  // [B,Hq,Tq,Tk] f32, before dropout; sinks have no columns
  Tensor lse;      // [B,Hq,Tq] f32
};

/// query [B,Tq,Hq,D], key [B,Tk,Hkv,D], value [B,Tk,Hkv,Dv]. The weights are the only output of
/// size Tq x Tk. Throws what softmax_forward and compose throw, before any work.
AttentionResult attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options = {});

/// Gradients of sum(out * d_out); weights and lse take no gradients. The gradient of a bias with
/// Hkv planes has Hkv planes too.
SoftmaxGradients attention_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionResult& forward, const Tensor& d_out,
                                    const AttentionOptions& options = {});

}  // namespace maskctl::attention
