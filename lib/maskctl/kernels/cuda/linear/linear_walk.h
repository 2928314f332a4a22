// A walk as plain data: the recurrence of linear attention, through all tokens of each sequence.
#pragma once

#include "maskctl/kernels/cuda/linear/arrays.h"
#include "maskctl/kernels/cuda/linear/plan.h"

namespace maskctl::attention::cuda {

// Outputs and gradients of queries, keys and values all come from the same recurrence, a walk over
// states [from, to], where `from` and `to` are the axes of keys and values in either order. At each
// token the state is decayed, then read, then updated:
//   before_t = out_scale * sum over `from` of read_t * state
//   out_t = before_t + the same product with the token's own update of the state
//   state += written_t of from * write_scale * written_t of to
// In a forward walk, `read` are the backward rows of `from` (LinearAxis), and `written` the forward
// rows of both axes: from keys to values this gives the outputs, from values to keys the gradients
// of the queries. In a backward walk, `read` are the forward rows and `written` the backward rows:
// from values to keys this gives the gradients of the keys, from keys to values those of the
// values.
struct LinearWalk {
  LinearAxis from, to;
  LinearHeadGates head_gates;
  bool backwards = false;
  float write_scale = 1, out_scale = 1;
  Index heads = 0, tokens = 0;  // all tokens of the batch, even if they are in no sequence
  AnyArray first;  // the states [sequences, heads, K, V] before the first step; absent: 0
  AnyResult last;  // the states after the last step; absent: not kept

  // Results out_t and before_t, [slices, tokens, heads, width of `to`], to be summed over the
  // slices. Rows of tokens that are in no sequence are not written.
  AnyResult out;
  float* before = nullptr;

  // A forward walk writes boundary_states [boundaries, heads, K, V]: the states after each interval
  // except a sequence's last. A backward walk reads them, multiplies each elementwise with its own
  // state at the same time, and writes the sums over `from` to `products` [slices, intervals,
  // heads, width of `to`]; for a sequence's last interval it reads last_states [sequences, heads,
  // K, V], or writes nothing if that is null.
  float* boundary_states = nullptr;
  const float* last_states = nullptr;
  float* products = nullptr;

  /// The number of slices of `from`, at most kWidest channels each, that separate blocks process.
  Index slices() const { return ceil_div(from.width, kWidest); }
  static constexpr Index kWidest = 256;
};

}  // namespace maskctl::attention::cuda
