// block-causal: keeps the keys in the query's block of tokens and in all blocks before it.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps cells where floor(k / size) <= floor((q + shift + offset) / size): causal between blocks
/// of `size` tokens, open inside them, as block diffusion and speech encoders that run in chunks
/// see them. `sizes` and `offsets` are [1] or [B] and replace the numbers where they are not empty.
/// The shift is 0, or K - Q with align=bottom-right; without align it is 0 too, as in chunk.
struct BlockCausal {
  Index size = 0;
  NamedArray sizes = {};
  Index offset = 0;
  NamedArray offsets = {};
  Align align = Align::kUnset;

  bool is_per_batch() const { return !sizes.empty() || !offsets.empty(); }
  friend bool operator==(const BlockCausal&, const BlockCausal&) = default;
};
const RuleInfo& row(const BlockCausal*);

}  // namespace maskctl::step
