// Why two planes differ: the shortest description of one in terms of the other; private to inspect.
#pragma once

#include <optional>
#include <string>

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"

namespace maskctl {

/// The kind of a claim about how B differs from A, and its words, without "B = A with" and without
/// the cells that remain wrong.
struct Wording {
  std::string kind, words;
};

/// Chains that give A and B from an all-open plane, except for a few cells.
struct ChainPair {
  Wording wording;
  Chain a, b;
};

/// The shortest description of the change from A to B as an edit, and as two chains if these are
/// shorter.
struct PairCause {
  Wording wording;  // describes the edit
  Chain edit;       // open: and close: steps, or one rule, that turn A into B
  std::optional<ChainPair> chains;
  /// Description length in bits of `edit` or of `chains`, whichever is shorter, including the cells
  /// that it leaves wrong.
  Index length = 0;
};

/// Explains how plane `b` differs from plane `a`. `found` is their difference; `a_is` and `b_is`
/// are the results of recognise().
PairCause explain_pair(const PlanePtr& a, const PlanePtr& b, const PlaneDiff& found,
                       const Recognised& a_is, const Recognised& b_is);

}  // namespace maskctl
