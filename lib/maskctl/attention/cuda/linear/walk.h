// The recurrence from one end of the sequences to the other.
#pragma once

#include "maskctl/attention/cuda/linear/arrays.h"
#include "maskctl/attention/cuda/linear/plan.h"

namespace maskctl::attention::cuda {

// The four products of the family are one walk over its states [from, to]. At each token the state,
// decayed, is read, and then written to:
//   before_t = out_scale * sum over `from` of read_t * state
//   out_t = before_t + what the token then writes and reads of itself
//   state += written_t of from * write_scale * written_t of to
// Forwards, a token reads with the backward rows of `from` and writes the forward rows of both
// axes: from keys to values this gives the outputs, from values to keys the gradients of the
// queries. Backwards, it reads with the forward rows and writes the backward rows: from values to
// keys this gives the gradients of the keys, from keys to values the gradients of the values.
struct LinearWalk {
  LinearAxis from, to;
  LinearHeadGates head_gates;
  bool backwards = false;
  float write_scale = 1, out_scale = 1;
  Index heads = 0, tokens = 0;  // tokens of the batch, also those of no sequence
  AnyArray first;               // [sequences, heads, K, V] before the first step; absent: 0
  AnyResult last;               // the states after the last step; absent: not kept

  // Results [slices, tokens, heads, width of `to`], for each of slices(): their sum is the whole.
  // Rows of tokens of no sequence are not written.
  AnyResult out;
  float* before = nullptr;

  // Forwards, boundary_states gets the states after each interval but a sequence's last,
  // [boundaries, heads,K,V]. Backwards, `products` gets these states times the states of this walk
  // at the same point, summed over `from`: [slices, intervals, heads, width of `to`]. At the end of
  // a sequence it uses last_states [sequences, heads, K, V], if not null.
  float* boundary_states = nullptr;
  const float* last_states = nullptr;
  float* products = nullptr;

  /// Slices of `from` that are walked separately.
  Index slices() const { return ceil_div(from.width, kWidest); }
  static constexpr Index kWidest = 256;
};

void walk(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk);

}  // namespace maskctl::attention::cuda
