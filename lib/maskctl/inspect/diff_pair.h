// Why two planes differ: the shortest description of one from the other; private to inspect.
#pragma once

#include <optional>
#include <string>

#include "maskctl/inspect/diff.h"
#include "maskctl/inspect/recognise.h"

namespace maskctl {

/// What a claim says, without "B = A with" and without the cells that it leaves over.
struct Said {
  std::string kind, words;
};

/// Chains from an all-open plane. They give A and B but for cells that are counted by applying
/// them.
struct ChainPair {
  Said said;
  Chain a, b;
};

/// The shortest description of B from A as an edit, and as chains where these are shorter.
struct PairCause {
  Said said;   // of the edit
  Chain edit;  // of open: and close: steps and rules that turn A into B
  std::optional<ChainPair> chains;
};

/// `a` and `b` differ as `found` says. `a_is`, `b_is`: what recognise() says of them.
PairCause explain_pair(const PlanePtr& a, const PlanePtr& b, const PlaneDiff& found,
                       const Recognised& a_is, const Recognised& b_is);

}  // namespace maskctl
