// A sequence of many rows of queries over pages, as a call of softmax attention.
#pragma once

#include "maskctl/attention/context.h"
#include "maskctl/attention/operations/paged/paged_problem.h"

namespace maskctl::attention {

/// Writes the rows of one sequence to out [rows,Hq,D]: its visible keys and values are copied
/// together and go to the kernel of softmax attention.
void gathered_attention(const PagedProblem& problem, const PagedSequence& sequence,
                        const Context& context, float* out);

}  // namespace maskctl::attention
