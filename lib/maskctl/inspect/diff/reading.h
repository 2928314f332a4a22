// Whether a step that one chain has and another lacks is a cause as it reads; private to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// A chain that has a step which the chain of the other plane lacks.
struct LoneStep {
  const Chain& chain;
  std::size_t at = 0;    // the step's place in the chain
  bool missing = false;  // the chain is A's: B lacks the step
};

/// How "B = A with STEP added", or missing, reads of cells. `is_true`: most of the cells that the
/// step decides in its chain differ in A and B, as these decide by the step alone. Where later
/// steps undo a part of it, less than half, `before` is the first that does: "STEP added before
/// causal".
struct Reading {
  bool is_true = false;
  std::optional<Step> before = {};
};

/// Judges a step by the cells of A and B. What another step of the chain, which does nothing there,
/// does again once the step is gone was no doing of the step alone: then it is no cause.
Reading reading_of(const LoneStep& lone, const PlanePtr& a, const PlanePtr& b);

/// True if a step that both chains have does something in only one of them: then nobody takes the
/// mask in which it does nothing for that chain.
bool idle_in_one(const Chain& a, const Chain& b, Index queries, Index keys);

}  // namespace maskctl
