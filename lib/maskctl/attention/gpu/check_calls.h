// What the host can see of calls on arrays of the GPU, checked by problem; private to gpu/.
#pragma once

#include "maskctl/attention/problems/block_problem.h"
#include "maskctl/attention/problems/cache_update.h"
#include "maskctl/attention/problems/paged_arrays.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::gpu {

// check(problem) throws unless a plan can be made for the problem, check(problem, arrays...) unless
// the arrays of one call are on the GPU, with the shapes and dtypes that belong to it.
void check(const SoftmaxProblem& p);
void check(const SoftmaxProblem& p, const SoftmaxOutputs& o);
void check(const SoftmaxProblem& p, const MutableTensorView& weights);
void check(const SoftmaxProblem& p, const SoftmaxBackwardInputs& in,
           const SoftmaxGradientOutputs& o);
void check(const PagedProblem& p);
void check(const PagedArraysProblem& p);
void check(const PagedProblem& p, const MutableTensorView& out);
void check(const PagedProblem& p, const NewTokens& tokens, const CachePages& pages);
void check(const BlockProblem& p);
void check(const BlockProblem& p, const SoftmaxOutputs& o);
void check(const BlockProblem& p, const SoftmaxBackwardInputs& in, const SoftmaxGradientOutputs& o);
void check(const SelectionProblem& p);
void check(const SelectionProblem& p, const MutableTensorView& selected);

/// Throws unless the tokens of all sequences exist.
void check_tokens(const std::vector<TokenSequence>& sequences, Index batch, Index tokens);

}  // namespace maskctl::attention::gpu
