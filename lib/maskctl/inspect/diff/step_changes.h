// Which steps of two chains differ; private to inspect.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// What a step of A became in B; null in `b` if the step was removed, in `a` if it was added, and
/// then it may be one `before` another.
struct StepChange {
  const Step* a = nullptr;
  const Step* b = nullptr;
  std::optional<Step> before = {};
};

/// The steps that differ between two chains; b.from[j] is the step of `a` from which step j of
/// `b` was made.
std::vector<StepChange> changes_between(const Chain& a, const recognition::Fitted& b);

/// For each step of `b`, the step of `a` that it matches; -1 if none does. Equal steps are
/// matched first, then comparable ones.
std::vector<Index> matched(const Chain& a, const Chain& b);

/// Where the chains of A and B differ in one step at the same place, and both close cells: the
/// one instead of the other. Else the changes as they are.
std::vector<StepChange> with_replaced(std::vector<StepChange> changes, const Chain& a,
                                      const Chain& b);

}  // namespace maskctl
