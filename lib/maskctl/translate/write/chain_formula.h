// The formula of a chain: one expression for the mask that its steps make of an all-open one;
// private to the layer.
#pragma once

#include <string>
#include <vector>

#include "maskctl/mask/steps/expr.h"
#include "maskctl/translate/translate.h"

namespace maskctl {

struct ChainFormula {
  Expr mask;                       // open cells
  std::string missing;             // the step without a formula, and why; empty: all have one
  std::vector<std::string> notes;  // what the expression holds for
};

/// `name` words the step that has no formula.
ChainFormula chain_formula(const Chain& chain, const StepName& name);

}  // namespace maskctl
