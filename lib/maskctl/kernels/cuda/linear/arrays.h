// The arrays that kernels of linear attention read.
#pragma once

#include "maskctl/attention/cuda/elements.h"

namespace maskctl::attention::cuda {

/// An array [tokens, heads, width]. Query head h uses head h / group of it. Null data: absent.
struct LinearRows {
  AnyArray array;
  Index heads = 1, group = 1, width = 1;

  constexpr bool any() const { return array.data != nullptr; }
};

/// The keys or the values of linear attention, which are the two axes of its states [K,V]. A state
/// is
///   h_t = decay_t * h_(t-1) + forward_t of the keys * forward_t of the values
/// where `forward` are the keys and the values themselves. The gradients of the states follow the
/// same rule from the last token to the first, with `backward`: the queries for the keys, and the
/// gradient of the output for the values.
struct LinearAxis {
  LinearRows forward, backward;
  LinearRows gates[2];  // log decays per channel; both are added
  Index width = 0;
  Index stride = 0;  // from one channel to the next in the array of states
};

/// Log decays that all channels of a head share: the sum of both arrays.
struct LinearHeadGates {
  LinearRows of_tokens;  // [tokens, heads, 1]
  LinearRows of_heads;   // [1, heads, 1]
};

}  // namespace maskctl::attention::cuda
