// The arrays of the linear family as its kernels take them.
#pragma once

#include "maskctl/attention/cuda/elements.h"

namespace maskctl::attention::cuda {

/// Rows [tokens, heads, width]: query head h uses head h / group. Without data the array is absent.
struct LinearRows {
  AnyArray array;
  Index heads = 1, group = 1, width = 1;

  constexpr bool any() const { return array.data != nullptr; }
};

/// The keys or the values: one of the two axes of the states [K,V], where
///   h_t = decay_t * h_(t-1) + forward_t of the keys * forward_t of the values
/// so that `forward` are the keys and values themselves. The gradients of the states follow the
/// same rule from the last token to the first, with `backward`: the queries, and the gradient of
/// the output.
struct LinearAxis {
  LinearRows forward, backward;
  LinearRows gates[2];  // log decays of each channel, which add up
  Index width = 0;
  Index stride = 0;  // from one channel to the next in the states
};

/// Log decays of whole heads, which add up.
struct LinearHeadGates {
  LinearRows of_tokens;  // [tokens, heads, 1]
  LinearRows of_heads;   // [1, heads, 1]
};

}  // namespace maskctl::attention::cuda
