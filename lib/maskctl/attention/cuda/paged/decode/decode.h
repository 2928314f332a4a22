// Decoding over pages on tensor cores.
#pragma once

#include "maskctl/attention/cuda/paged/plan.h"

namespace maskctl::attention::cuda {

/// Whether decode() supports a problem whose sequences usually have `usual_rows` rows of queries:
/// queries and cache of the same 16-bit dtype, heads that are a multiple of 16 bytes, with at most
/// 256 dimensions, or 128 if usual_rows > 1. The alignment of the arrays is not checked here.
bool decodes(const PagedProblem& problem, Index usual_rows);

/// Divides the work among blocks, once for all calls with the sequences of `problem`. The result is
/// stored in plan.divided_work(), which must have divided_work_bytes().
std::size_t divided_work_bytes(const PagedProblem& problem, Index usual_rows);
void divide_work(const PagedProblem& problem, const PagedPlan& plan, Stream stream);

/// Computes what paged() computes, for problems that decodes() accepts.
void decode(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan,
            const MutableTensorView& out);

}  // namespace maskctl::attention::cuda
