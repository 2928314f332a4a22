// The gradients of the gates of one chunk, computed from those of its queries, keys and values.
#pragma once

#include <vector>

#include "maskctl/kernels/cpu/linear/chunk.h"

namespace maskctl::attention {

/// Where the gradients of one head are written.
struct HeadGradients {
  RowsOf<float> q, k, v;
  bool adds = false;  // whether to add to k and v, because other query heads share them
  RowsOf<float> key_gates[2], value_gates, head_gates;  // gates as in LinearHead
  double g_gamma = 0;
  bool any_gates = false, by_head = false;  // by_head: there is g_gamma or a g per head
  float* initial_state = nullptr;
};

// The gradient of a log decay (per key) at token t is S_t = sum over v of state * gradient of the
// state, right after the decay. Going back one token, S changes by q dq - k dk. For a decay per
// value, S is the sum over keys, and changes by o do - v dv. Each chunk computes the S of its last
// token anew from the states.
class GateGradients {
 public:
  /// For chunks of at most `capacity` tokens.
  GateGradients(const LinearDims& d, Index capacity);

  /// Sets the sums S from a state and its gradient, both [K, V] in rows of round_up(V,
  /// kColumnGroup) floats. Both must stand either after the last token of a chunk, or right after
  /// the decays of its first token.
  void carry(const float* state, const float* d_state);

  /// Pairs of rows whose products are added to the sums S of GateGradients (plus) or subtracted
  /// from them (minus).
  struct Terms {
    RowPair plus, minus;
  };
  /// Computes the gradients of all tokens of a chunk but the first; carry() must have been called
  /// for the state after the last token. The terms must not contain the product of a token with
  /// itself: in the sums it would cancel, but leave a rounding error that no decay reduces.
  /// `values` is null if there are no gates per value.
  void find(const Chunk& chunk, const Terms& keys, const Terms* values);

  /// Takes the gradients of the first token from the last carry(), and writes the gradients of all
  /// `count` tokens, starting at token `first` of the head.
  void write(Index count, Index first, HeadGradients& gradients);

 private:
  void forget(const Chunk& chunk, Index j);

  Index keys_, values_, stride_;
  Buffer key_gates_, value_gates_;
  std::vector<double> key_carry_, value_carry_, head_gates_;
};

}  // namespace maskctl::attention
