// Linear attention as a gated recurrence with an explicit state, O(T), and two special cases of it:
// gated linear attention and lightning attention.
#pragma once

#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/problems/linear_arrays.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

// For each sequence and query head, with state h [K,V] and logarithmic decays:
//   h_t = exp(g_t[k] + g_gamma + gk_t[k] + gv_t[v]) * h_(t-1) + k_t v_t^T,   h_0 = initial_state
//   o_t = softmax_scale * q_t^T h_t                     (after the update: a token sees itself)
// Query head h reads key head h / (H / Hkv). Decays above 0 grow; -inf forgets all before.

/// Borrowed arrays, heads after time. query, key and value are f32, f16 or bf16, all of one dtype;
/// the rest is of any float dtype.
struct RecurrentAttentionInputs {
  const Tensor* query = nullptr;          // [B,T,H,K]
  const Tensor* key = nullptr;            // [B,T,Hkv,K]
  const Tensor* value = nullptr;          // [B,T,Hkv,V]
  const Tensor* g = nullptr;              // [B,T,H,K], or [B,T,H]: one decay for all keys
  const Tensor* g_gamma = nullptr;        // [H]
  const Tensor* gk = nullptr;             // [B,T,H,K]
  const Tensor* gv = nullptr;             // [B,T,H,V]
  const Tensor* initial_state = nullptr;  // [B,H,K,V], or [N,H,K,V] with cu_seqlens; absent: 0
  /// [N+1] nondecreasing integers from 0: B is 1, and each sequence is computed alone. Tokens past
  /// the last sequence have output and gradients 0.
  const Tensor* cu_seqlens = nullptr;
  const Tensor* state = nullptr;  // another name of initial_state; the result then has the state
};

struct RecurrentAttentionOptions {
  std::optional<double> softmax_scale;  // 1 / sqrt(K)
  bool reverse = false;                 // time runs from the last token of a sequence to its first
  bool return_state = false;
  Index chunk_size = 0;  // a hint, tokens that kCpu takes together; 0 = automatic
  Context context = {};
};

struct LinearAttentionResult {
  Tensor out;                         // [B,T,H,V] in the dtype of value
  std::optional<Tensor> final_state;  // [B or N,H,K,V] f32; with return_state or `state`
};

/// Throws Error(kShape, kInvalidArgument) before any work: ranks and extents that do not fit, H not
/// divisible by Hkv, mixed dtypes, cu_seqlens with B != 1, both names of one array.
LinearAttentionResult recurrent_attention(const RecurrentAttentionInputs& inputs,
                                          const RecurrentAttentionOptions& options = {});

/// In the shapes and dtypes of the inputs; where they are given.
using LinearAttentionGradients = LinearArrays<Tensor>;

/// Gradients of sum(out * d_out) (+ sum(final_state * d_final_state) when given).
LinearAttentionGradients recurrent_attention_backward(const RecurrentAttentionInputs& inputs,
                                                      const Tensor& d_out,
                                                      const RecurrentAttentionOptions& options = {},
                                                      const Tensor* d_final_state = nullptr);

// Gated linear attention: the recurrence with decays g and g_gamma only.

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

// Lightning attention: the recurrence with one fixed decay per head.

/// As RecurrentAttentionInputs.
struct LightningAttentionInputs {
  const Tensor* query = nullptr;
  const Tensor* key = nullptr;
  const Tensor* value = nullptr;
  const Tensor* initial_state = nullptr;
  const Tensor* cu_seqlens = nullptr;
  /// A decay: [H], or one number for all heads (rank 0, or [1]); the logarithm of what the
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
