#include "maskctl/attention/operations/native_sparse/checked.h"

#include <fmt/format.h>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/softmax/checked.h"

namespace maskctl::attention {
namespace {

void check_positive(const char* name, Index value) {
  if (value < 1) refuse(fmt::format("{} is {}, expected 1 or more", name, value));
}

}  // namespace

BlockProblem checked_block_problem(const NativeSparseInputs& in,
                                   const NativeSparseOptions& options) {
  SoftmaxOptions softmax;
  softmax.scale = options.softmax_scale;
  BlockProblem problem;
  problem.d = checked_dims({in.query, in.key, in.value}, softmax);
  if (problem.d.keys != problem.d.queries) {
    refuse_shape(
        fmt::format("{} queries and {} keys, expected as many", problem.d.queries, problem.d.keys));
  }
  check_positive("block_size", options.block_size);
  check_positive("block_counts", options.block_counts);
  problem.query = *in.query, problem.key = *in.key, problem.value = *in.value;
  problem.scale = options.softmax_scale.value_or(default_scale(problem.d.dim));
  problem.block_size = options.block_size;
  problem.count = options.block_counts;
  problem.counts_duplicates = options.duplicate_blocks == DuplicateBlocks::kCount;
  problem.sequences = sequences_in(in.cu_seqlens, problem.d.batch, problem.d.queries);
  return problem;
}

BlockProblem checked_selected_problem(const NativeSparseInputs& in,
                                      const NativeSparseOptions& options) {
  BlockProblem problem = checked_block_problem(in, options);
  if (!in.block_indices) {
    refuse("neither block_indices nor g_cmp; one of them says which blocks a token sees");
  }
  problem.indices = TokenLists("block_indices", *in.block_indices, 4, problem.d, problem.sequences,
                               problem.block_size);
  if (!in.block_counts) return problem;
  problem.counts = TokenLists("block_counts", *in.block_counts, 3, problem.d, problem.sequences,
                              problem.block_size);
  const auto negative = problem.counts.least();
  if (negative < 0) refuse(fmt::format("block_counts holds {}, expected 0 or more", negative));
  return problem;
}

}  // namespace maskctl::attention
