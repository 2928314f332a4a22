// Checks calls of native sparse attention and makes the problems for their kernels.
#pragma once

#include "maskctl/attention/operations/native_sparse/native_sparse.h"
#include "maskctl/attention/problems/block_problem.h"

namespace maskctl::attention {

/// Checks a call and returns its problem, without the lists of blocks. Throws the errors that
/// apply_native_sparse_attention documents.
BlockProblem checked_block_problem(const NativeSparseInputs& inputs,
                                   const NativeSparseOptions& options);
/// Checks a call of native_sparse_attention and returns its problem, with the lists of blocks.
BlockProblem checked_selected_problem(const NativeSparseInputs& inputs,
                                      const NativeSparseOptions& options);

}  // namespace maskctl::attention
