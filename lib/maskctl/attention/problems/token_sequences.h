// The sequences of a call whose tokens are read one after another.
#pragma once

#include <vector>

#include "maskctl/attention/arrays/checks.h"

namespace maskctl::attention {

/// Sequences in the rows of a batch of `tokens` tokens each. They do not overlap.
struct TokenSequences {
  Index batch = 0, tokens = 0;
  std::vector<TokenSequence> sequences;

  /// The index of a sequence's first token among all B * T tokens.
  Index first_token(const TokenSequence& s) const { return s.batch * tokens + s.tokens.begin; }
  /// Whether every token belongs to a sequence.
  bool covers_tokens() const {
    Index inside = 0;
    for (const TokenSequence& s : sequences) inside += s.tokens.size();
    return inside == batch * tokens;
  }
};

}  // namespace maskctl::attention
