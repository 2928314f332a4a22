// One call of linear attention, checked, as kernels take it.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "maskctl/attention/operations/linear/recurrent.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// Tokens of one row of the batch; sequence n has state n.
struct LinearSequence {
  Index batch = 0;
  Range tokens;
};

struct LinearDims {
  Index batch = 0, tokens = 0;
  Index heads = 0, kv_heads = 0;
  Index key_dim = 0, value_dim = 0;
  double scale = 1;
  bool reverse = false;
  bool g_per_head = false;  // g is [B,T,H]
  Index chunk_size = 0;     // a hint; 0 = automatic
  std::vector<LinearSequence> sequences;

  Index kv_head(Index head) const { return head / (heads / kv_heads); }
  /// Where token `step` of a sequence, in order of time, lies among all tokens of the batch.
  Index token(const LinearSequence& s, Index step) const {
    return s.batch * tokens + (reverse ? s.tokens.end - 1 - step : s.tokens.begin + step);
  }
  /// Tokens of the longest sequence.
  Index longest() const {
    Index most = 0;
    for (const LinearSequence& s : sequences) most = std::max(most, s.tokens.size());
    return most;
  }
  /// Whether every token is of some sequence.
  bool covers_tokens() const {
    Index inside = 0;
    for (const LinearSequence& s : sequences) inside += s.tokens.size();
    return inside == batch * tokens;
  }
  std::vector<Index> out_shape() const { return {batch, tokens, heads, value_dim}; }
  std::vector<Index> state_shape() const {
    return {static_cast<Index>(sequences.size()), heads, key_dim, value_dim};
  }
};

struct LinearProblem {
  LinearDims d;
  TensorView query, key, value;
  std::optional<TensorView> g, g_gamma, gk, gv, initial_state;
};

struct LinearOutputs {
  MutableTensorView out;          // [B,T,H,V] in the dtype of value
  MutableTensorView final_state;  // [B or N,H,K,V] f32
};

/// What the backward pass reads beside the problem, of any float dtype.
struct LinearBackwardInputs {
  TensorView d_out;
  std::optional<TensorView> d_final_state;
};

/// In the shapes and dtypes of the inputs; where the problem has them.
struct LinearGradientOutputs {
  MutableTensorView query, key, value;
  std::optional<MutableTensorView> g, g_gamma, gk, gv, initial_state;
};

/// Throws what recurrent_attention documents. inputs.state is resolved already.
LinearProblem checked_linear(const RecurrentAttentionInputs& inputs,
                             const RecurrentAttentionOptions& options);

}  // namespace maskctl::attention
