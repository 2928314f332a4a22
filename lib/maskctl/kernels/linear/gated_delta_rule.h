// gated_delta_rule: linear attention whose state forgets what it held for a key before it writes
// the key's new value (Gated DeltaNet). Without gates: the delta rule of DeltaNet.
#pragma once

#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/kernels/linear/recurrent.h"
#include "maskctl/kernels/problems/delta_arrays.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

// For each sequence and value head, with a state S of shape [K,V] and a log decay g:
//   P_t = exp(g_t) S_(t-1),   S_0 = initial_state
//   S_t = P_t + beta_t k_t (v_t - P_t^T k_t)^T
//   o_t = softmax_scale * S_t^T q_t                  (after the update, so a token sees itself)
// Value head h reads query and key head h / (H / Hk). Keys are expected to have length 1 and beta
// to lie between 0 and 1; where beta |k|^2 exceeds 2, the state grows.

/// Borrowed arrays. query, key and value have the same dtype: f32, f16 or bf16. The others may have
/// any float dtype.
struct GatedDeltaRuleInputs {
  const Tensor* query = nullptr;          // [B,T,Hk,K]
  const Tensor* key = nullptr;            // [B,T,Hk,K]
  const Tensor* value = nullptr;          // [B,T,H,V]
  const Tensor* beta = nullptr;           // [B,T,H]: how much of the new value is written
  const Tensor* g = nullptr;              // [B,T,H]: log decay; null: 0
  const Tensor* initial_state = nullptr;  // [B,H,K,V], or [N,H,K,V] with cu_seqlens; null: 0
  /// [N+1] nondecreasing integers from 0. B must be 1, and each sequence has a state of its own.
  /// For tokens past the last sequence, outputs and gradients are 0.
  const Tensor* cu_seqlens = nullptr;
};

struct GatedDeltaRuleOptions {
  std::optional<double> softmax_scale;  // default: 1 / sqrt(K)
  bool return_state = false;
  Context context = {};
};

/// Throws Error(kShape, kInvalidArgument) before any work: ranks and extents that do not fit, H not
/// divisible by Hk, mixed dtypes, cu_seqlens with B != 1.
LinearAttentionResult gated_delta_rule(const GatedDeltaRuleInputs& inputs,
                                       const GatedDeltaRuleOptions& options = {});

/// Gradients with the shapes and dtypes of the inputs; only of arrays that are given.
using GatedDeltaRuleGradients = DeltaArrays<Tensor>;

/// Gradients of sum(out * d_out), plus sum(final_state * d_final_state) if that is given.
GatedDeltaRuleGradients gated_delta_rule_backward(const GatedDeltaRuleInputs& inputs,
                                                  const Tensor& d_out,
                                                  const GatedDeltaRuleOptions& options = {},
                                                  const Tensor* d_final_state = nullptr);

}  // namespace maskctl::attention
