// Why two planes differ: the shortest description of one from the other; private to inspect.
#pragma once

#include <optional>
#include <string>

#include "maskctl/inspect/diff.h"
#include "maskctl/inspect/recognise.h"

namespace maskctl {

/// Chains from an all-open plane. They give A and B but for cells that are counted by applying
/// them.
struct ChainPair {
  Chain a, b;
};

struct PairCause {
  std::string kind;
  std::string words;                // without "B = A with"; without the cells
  std::optional<ChainPair> chains;  // nothing where A and B have no rule in common
  Chain edit;                       // of open: and close: steps and rules that turn A into B
};

/// `a` and `b` differ as `found` says. `a_is`, `b_is`: what recognise() says of them.
PairCause explain_pair(const PlanePtr& a, const PlanePtr& b, const PlaneDiff& found,
                       const Recognised& a_is, const Recognised& b_is);

}  // namespace maskctl
