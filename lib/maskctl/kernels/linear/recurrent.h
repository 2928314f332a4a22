// Linear attention: a gated recurrence with an explicit state, O(T). Gated linear attention (GLA)
// and lightning attention are special cases.
#pragma once

#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"
#include "maskctl/kernels/problems/linear_arrays.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

// For each sequence and query head, with a state h of shape [K,V] and decays given as logarithms:
//   h_t = exp(g_t[k] + g_gamma + gk_t[k] + gv_t[v]) * h_(t-1) + k_t v_t^T,   h_0 = initial_state
//   o_t = softmax_scale * q_t^T h_t                     (after the update, so a token sees itself)
// Query head h reads key head h / (H / Hkv). A log decay above 0 makes the state grow; -inf resets
// it.

/// Borrowed arrays, [B,T,H,...]. query, key and value have the same dtype: f32, f16 or bf16. The
/// others may have any float dtype.
struct RecurrentAttentionInputs {
  const Tensor* query = nullptr;          // [B,T,H,K]
  const Tensor* key = nullptr;            // [B,T,Hkv,K]
  const Tensor* value = nullptr;          // [B,T,Hkv,V]
  const Tensor* g = nullptr;              // log decay [B,T,H,K], or [B,T,H]: equal for all K
  const Tensor* g_gamma = nullptr;        // [H]: log decay of each head, constant over time
  const Tensor* gk = nullptr;             // [B,T,H,K]: log decay per key channel
  const Tensor* gv = nullptr;             // [B,T,H,V]: log decay per value channel
  const Tensor* initial_state = nullptr;  // [B,H,K,V], or [N,H,K,V] with cu_seqlens; null: 0
  /// [N+1] nondecreasing integers from 0. B must be 1, and each sequence has a state of its own.
  /// For tokens past the last sequence, outputs and gradients are 0.
  const Tensor* cu_seqlens = nullptr;
  const Tensor* state = nullptr;  // same as initial_state, and sets return_state
};

struct RecurrentAttentionOptions {
  std::optional<double> softmax_scale;  // default: 1 / sqrt(K)
  bool reverse = false;                 // runs from the last token of a sequence to the first
  bool return_state = false;
  Index chunk_size = 0;  // a hint: tokens that kCpu processes together; 0: automatic
  Context context = {};
};

struct LinearAttentionResult {
  Tensor out;                         // [B,T,H,V] in the dtype of value
  std::optional<Tensor> final_state;  // [B or N,H,K,V] f32; set with return_state or `state`
};

/// Throws Error(kShape, kInvalidArgument) before any work: ranks and extents that do not fit, H not
/// divisible by Hkv, mixed dtypes, cu_seqlens with B != 1, both `state` and initial_state.
LinearAttentionResult recurrent_attention(const RecurrentAttentionInputs& inputs,
                                          const RecurrentAttentionOptions& options = {});

/// Gradients with the shapes and dtypes of the inputs; only of arrays that are given.
using LinearAttentionGradients = LinearArrays<Tensor>;

/// Gradients of sum(out * d_out), plus sum(final_state * d_final_state) if that is given.
LinearAttentionGradients recurrent_attention_backward(const RecurrentAttentionInputs& inputs,
                                                      const Tensor& d_out,
                                                      const RecurrentAttentionOptions& options = {},
                                                      const Tensor* d_final_state = nullptr);

// Gated linear attention: the recurrence with decays g and g_gamma only.

/// The arrays of RecurrentAttentionInputs.
struct GlaAttentionInputs {
  const Tensor* query = nullptr;
  const Tensor* key = nullptr;
  const Tensor* value = nullptr;
  const Tensor* g = nullptr;
  const Tensor* g_gamma = nullptr;
  const Tensor* initial_state = nullptr;
  const Tensor* cu_seqlens = nullptr;
  const Tensor* gate = nullptr;  // same as g; for a sigmoid gate x give log(sigmoid(x))
};

using GlaAttentionOptions = RecurrentAttentionOptions;

/// Throws what recurrent_attention throws.
LinearAttentionResult gla_attention(const GlaAttentionInputs& inputs,
                                    const GlaAttentionOptions& options = {});
/// The gradient of `gate` is returned in `g`.
LinearAttentionGradients gla_attention_backward(const GlaAttentionInputs& inputs,
                                                const Tensor& d_out,
                                                const GlaAttentionOptions& options = {},
                                                const Tensor* d_final_state = nullptr);

// Lightning attention: the recurrence with one fixed decay per head.

/// The arrays of RecurrentAttentionInputs, and a decay.
struct LightningAttentionInputs {
  const Tensor* query = nullptr;
  const Tensor* key = nullptr;
  const Tensor* value = nullptr;
  const Tensor* initial_state = nullptr;
  const Tensor* cu_seqlens = nullptr;
  /// Log decay per token: [H], or one number for all heads (rank 0 or [1]).
  const Tensor* decay = nullptr;
};

/// Exactly one of inputs.decay and the pair (layer_idx, num_layers) is given.
struct LightningAttentionOptions : RecurrentAttentionOptions {
  std::optional<Index> layer_idx;   // number of the layer, counted from 0
  std::optional<Index> num_layers;  // must be above layer_idx
};

/// The log decay of each head, [heads] f32: -(8 / heads) * (1 - layer_idx / num_layers) * h, so
/// that head 0 does not decay. Throws Error(kInvalidArgument) unless 0 <= layer_idx < num_layers.
Tensor lightning_decay(Index heads, Index layer_idx, Index num_layers);

/// Throws what recurrent_attention throws, and Error(kInvalidArgument) if both or neither of decay
/// and (layer_idx, num_layers) are given.
LinearAttentionResult lightning_attention(const LightningAttentionInputs& inputs,
                                          const LightningAttentionOptions& options);
/// The decay is treated as a constant, without a gradient.
LinearAttentionGradients lightning_attention_backward(const LightningAttentionInputs& inputs,
                                                      const Tensor& d_out,
                                                      const LightningAttentionOptions& options,
                                                      const Tensor* d_final_state = nullptr);

}  // namespace maskctl::attention
