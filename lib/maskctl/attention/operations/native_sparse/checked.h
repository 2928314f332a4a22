// The problems that native sparse attention states, and their checks.
#pragma once

#include "maskctl/attention/operations/native_sparse/native_sparse.h"
#include "maskctl/attention/problems/block_problem.h"

namespace maskctl::attention {

/// All members but the lists. Throws what apply_native_sparse_attention documents.
BlockProblem checked_block_problem(const NativeSparseInputs& inputs,
                                   const NativeSparseOptions& options);
/// The checked problem of native_sparse_attention, with the lists of blocks.
BlockProblem checked_selected_problem(const NativeSparseInputs& inputs,
                                      const NativeSparseOptions& options);

}  // namespace maskctl::attention
