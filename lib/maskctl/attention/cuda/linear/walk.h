// The recurrence from one end of the sequences to the other.
#pragma once

#include "maskctl/attention/cuda/linear/arrays.h"

namespace maskctl::attention::cuda {

/// Intervals of a plan have a multiple of it.
inline constexpr Index kLeastInterval = 64;

// The four products of the family are one walk over its states [from, to]. At each token the state,
// decayed, is read, and then written to:
//   before_t = out_scale * sum over `from` of read_t * state
//   out_t = before_t + what the token then writes and reads of itself
//   state += written_t of from * write_scale * written_t of to
// Forwards, the tokens of `from` read by its backward rows and write the forward rows of both:
// from keys to values this gives the outputs, from values to keys the gradients of the queries.
// Backwards they read by the forward rows and write the backward rows: from values to keys this
// gives the gradients of the keys, and from keys to values those of the values.
struct LinearWalk {
  LinearAxis from, to;
  LinearHeadGates head_gates;
  bool backwards = false;
  float write_scale = 1, out_scale = 1;
  Index heads = 0, tokens = 0;  // tokens of the batch, those of no sequence with them
  AnyArray first;               // [sequences, heads, K, V] before the first step; absent: 0
  AnyResult last;               // the same after the last one; absent: not kept

  // Results [slices, tokens, heads, width of `to`], for each of slices(): their sum is the whole.
  // Rows of tokens of no sequence are not written.
  AnyResult out;
  float* before = nullptr;

  // Forwards: the states after each interval but the last of its sequence, [boundaries, heads,K,V].
  // Backwards: the products of those, or last_states [sequences, heads, K, V] for the last interval
  // if there are any, with the states of this walk just there, summed over `from`:
  // [slices, intervals, heads, width of `to`].
  float* boundary_states = nullptr;
  const float* last_states = nullptr;
  float* products = nullptr;

  /// Slices of `from` that are walked apart.
  Index slices() const { return ceil_div(from.width, kWidest); }
  static constexpr Index kWidest = 256;
};

void walk(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk);

}  // namespace maskctl::attention::cuda
