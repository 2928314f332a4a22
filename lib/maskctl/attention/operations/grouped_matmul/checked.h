// The problem that grouped_matmul states, and its checks.
#pragma once

#include "maskctl/attention/operations/grouped_matmul/grouped_matmul.h"
#include "maskctl/attention/problems/grouped_problem.h"

namespace maskctl::attention {

/// Throws what grouped_matmul documents.
GroupedProblem checked_grouped(const GroupedMatmulInputs& inputs,
                               const GroupedMatmulOptions& options);

}  // namespace maskctl::attention
