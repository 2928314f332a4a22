// The problem that linear attention states, and its checks.
#pragma once

#include "maskctl/attention/operations/linear/recurrent.h"
#include "maskctl/attention/problems/linear_problem.h"

namespace maskctl::attention {

/// Throws what recurrent_attention documents. inputs.state is resolved already.
LinearProblem checked_linear(const RecurrentAttentionInputs& inputs,
                             const RecurrentAttentionOptions& options);

}  // namespace maskctl::attention
