// Gradients of the gates of one chunk, from those of its queries, keys and values.
#pragma once

#include <vector>

#include "maskctl/attention/cpu/linear/chunk.h"

namespace maskctl::attention {

/// Where the gradients of one head are written.
struct HeadGradients {
  RowsOf<float> q, k, v;
  bool adds = false;  // add to k and v, which hold the gradients of other query heads
  RowsOf<float> key_gates[2], value_gates, head_gates;  // as in LinearHead
  double g_gamma = 0;
  bool any_gates = false, by_head = false;  // by_head: g_gamma or g per head
  float* initial_state = nullptr;
};

// The gradient of the logarithm of a decay per key is sum_v of state times gradient of the state
// just after the decay; from one token back to the one before that grows by q dq - k dk (per value:
// by o do - v dv, summed over keys). Each chunk starts that sum anew from the states.
class GateGradients {
 public:
  /// `capacity` tokens at most.
  GateGradients(const LinearDims& d, Index capacity);

  /// Starts the sums from a state and its gradient, [K, V] in rows of round_up(V, kColumnGroup):
  /// after the last token of a chunk, or just after the decays of its first one.
  void carry(const float* state, const float* d_state);

  /// The products of rows that the sums grow by, and those that they fall by.
  struct Terms {
    RowPair plus, minus;
  };
  /// Finds the gradients of all tokens but the first, from what `carry` took after the last. The
  /// terms must lack what tokens read of themselves: it would cancel except for its rounding error,
  /// which no decay makes smaller. `values` is null without gates per value.
  void find(const Chunk& chunk, const Terms& keys, const Terms* values);

  /// Finds the gradients of the first token from what `carry` took last, and writes those of all
  /// tokens, from `first` on.
  void write(Index count, Index first, HeadGradients& gradients);

 private:
  void forget(const Chunk& chunk, Index j);

  Index keys_, values_, stride_;
  Buffer key_gates_, value_gates_;
  std::vector<double> key_carry_, value_carry_, head_gates_;
};

}  // namespace maskctl::attention
