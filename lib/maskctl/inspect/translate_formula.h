// A chain of steps as one Python expression, for libraries that take a function of two indices;
// private to inspect.
#pragma once

#include <string>
#include <vector>

#include "maskctl/inspect/why.h"
#include "maskctl/mask/step.h"

namespace maskctl {

struct Formula {
  std::vector<std::string> tensors;  // lines of code that define what the expression reads
  std::string expression;            // in b, q_idx and kv_idx
  std::vector<std::string> notes;    // what the tensors must be
  std::string missing;               // a step without a formula, and so; empty: all have one
};

/// PyTorch code for the mask that the chain makes of an all-open one. q_idx counts rows from 0.
Formula formula_of(const Chain& chain, const StepName& name);

/// The same where q_idx counts from the first cached token, q_idx = row + K - Q: bottom-right
/// alignment falls away. Steps that count rows without an alignment are written for Q = K, with a
/// note. `missing` says so of a top-left one.
Formula formula_in_absolute_positions(Chain chain, const StepName& name);

}  // namespace maskctl
