// at: the cells of a chain at the positions of tokens, whatever their order and number here.
#pragma once

#include "maskctl/mask/steps/take.h"

namespace maskctl::step {

/// Applies the chain to n x n tokens; cell (q, k) becomes what it makes of cell (q_index[q],
/// kv_index[k]) there. So a rank's part of a causal mask is causal at the positions of its tokens.
/// n is the greatest position and 1, or more if given.
struct At : TokenIndices {
  Index n = 0;
  Chain chain;
  friend bool operator==(const At& a, const At& b);
};
const RuleInfo& row(const At*);

}  // namespace maskctl::step
