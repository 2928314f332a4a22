// Checks a grouped_matmul call and makes the problem for its kernels.
#pragma once

#include "maskctl/attention/problems/grouped_problem.h"
#include "maskctl/kernels/grouped_matmul/grouped_matmul.h"

namespace maskctl::attention {

/// Throws the errors that grouped_matmul documents.
GroupedProblem checked_grouped(const GroupedMatmulInputs& inputs,
                               const GroupedMatmulOptions& options);

}  // namespace maskctl::attention
