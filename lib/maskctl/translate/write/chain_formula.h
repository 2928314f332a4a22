// Writes the steps of a chain, applied to an all-open mask, as one expression; private to the
// layer.
#pragma once

#include <string>
#include <vector>

#include "maskctl/mask/steps/expr.h"
#include "maskctl/translate/translate.h"

namespace maskctl {

struct ChainFormula {
  Expr mask;            // true for open cells
  std::string missing;  // names the step without a formula, and why; empty if all have one
  std::vector<std::string> notes;  // conditions under which the expression holds
};

/// Writes the chain as one expression. `name` says what to call a step that has no formula.
ChainFormula chain_formula(const Chain& chain, const StepName& name);

}  // namespace maskctl
