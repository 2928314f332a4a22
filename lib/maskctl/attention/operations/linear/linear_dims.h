// Extents and sequences of one call of linear attention, checked.
#pragma once

#include <algorithm>
#include <vector>

#include "maskctl/attention/operations/linear/recurrent.h"

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
  /// An f32 array with rows for all tokens, for who writes those of every sequence: the others are
  /// 0.
  Tensor of_tokens(const std::vector<Index>& shape) const {
    Index inside = 0;
    for (const LinearSequence& s : sequences) inside += s.tokens.size();
    return inside == batch * tokens ? Tensor::unwritten(DType::kFloat32, shape)
                                    : Tensor(DType::kFloat32, shape);
  }
  std::vector<Index> out_shape() const { return {batch, tokens, heads, value_dim}; }
  std::vector<Index> state_shape() const {
    return {static_cast<Index>(sequences.size()), heads, key_dim, value_dim};
  }
};

/// Throws what recurrent_attention documents. inputs.state is resolved already.
LinearDims checked_linear_dims(const RecurrentAttentionInputs& inputs,
                               const RecurrentAttentionOptions& options);

}  // namespace maskctl::attention
