// Why two planes differ: the shortest description of one in terms of the other; private to inspect.
#pragma once

#include <optional>
#include <string>

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"

namespace maskctl {

/// The words of a claim, without "B = A with" and without the remaining cells.
struct Wording {
  std::string kind, words;
};

/// Chains from an all-open plane. They give A and B up to a residue, counted by applying them.
struct ChainPair {
  Wording wording;
  Chain a, b;
};

/// The shortest description of B from A as an edit, and as chains if these are shorter.
struct PairCause {
  Wording wording;  // describes the edit
  Chain edit;       // open: and close: steps and rules that turn A into B
  std::optional<ChainPair> chains;
  /// Description length in bits of the shorter of the two, its residue included.
  Index length = 0;
};

/// `found` are the differences of `a` and `b`; `a_is` and `b_is` come from recognise().
PairCause explain_pair(const PlanePtr& a, const PlanePtr& b, const PlaneDiff& found,
                       const Recognised& a_is, const Recognised& b_is);

}  // namespace maskctl
