// Linear attention: the checked problem that kernels receive.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "maskctl/attention/problems/token_sequences.h"
#include "maskctl/kernels/problems/linear_arrays.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// A LinearArrays that holds f(array) for every array of `x`.
template <class Arrays, class F>
auto map_arrays(Arrays& x, F&& f) {
  return LinearArrays<decltype(f(x.query)), decltype(f(x.g))>{
      f(x.query), f(x.key), f(x.value), f(x.g), f(x.g_gamma), f(x.gk), f(x.gv), f(x.initial_state)};
}

using LinearSequence = TokenSequence;

/// State n belongs to sequence n.
struct LinearDims : TokenSequences {
  Index heads = 0, kv_heads = 0;
  Index key_dim = 0, value_dim = 0;
  double scale = 1;
  bool reverse = false;
  bool g_per_head = false;  // g has one decay per head: [B,T,H]
  Index chunk_size = 0;     // tokens per chunk, a hint; 0: automatic

  Index kv_head(Index head) const { return head / (heads / kv_heads); }
  /// The index among all B * T tokens of step `step` of a sequence, counted in the direction of the
  /// recurrence (backward if `reverse`).
  Index token(const LinearSequence& s, Index step) const {
    return s.batch * tokens + (reverse ? s.tokens.end - 1 - step : s.tokens.begin + step);
  }
  /// The length of the longest sequence, in tokens.
  Index longest() const {
    Index most = 0;
    for (const LinearSequence& s : sequences) most = std::max(most, s.tokens.size());
    return most;
  }
  std::vector<Index> out_shape() const { return {batch, tokens, heads, value_dim}; }
  std::vector<Index> state_shape() const {
    return {static_cast<Index>(sequences.size()), heads, key_dim, value_dim};
  }
};

struct LinearProblem : LinearArrays<TensorView> {
  LinearDims d;
};

struct LinearOutputs {
  MutableTensorView out;          // [B,T,H,V] in the dtype of value
  MutableTensorView final_state;  // [B or N,H,K,V] f32
};

/// What the backward pass reads in addition to the problem, of any float dtype.
struct LinearBackwardInputs {
  TensorView d_out;
  std::optional<TensorView> d_final_state;
};

/// Gradients, with the shapes and dtypes of the inputs; only of arrays that the problem has.
using LinearGradientOutputs = LinearArrays<MutableTensorView>;

}  // namespace maskctl::attention
