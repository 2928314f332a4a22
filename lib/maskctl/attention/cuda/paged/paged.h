// Attention over pages on the GPU, for decoding and for many rows of each sequence.
#pragma once

#include <string>

#include "maskctl/attention/cuda/paged/plan.h"

namespace maskctl::attention::cuda {

/// Computes attention over pages, with all arrays on the GPU. Equal calls give equal bits.
void paged(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan,
           const MutableTensorView& out);

/// Why paged() cannot take a problem: a head of a key has more bytes than a block
/// of threads takes; empty when it can.
std::string paged_unsupported(const PagedProblem& problem);

class HostCall;
/// Copies the arrays of a problem to the GPU; keys and values that share memory are copied once.
PagedProblem to_device(HostCall& host_call, PagedProblem problem);

}  // namespace maskctl::attention::cuda
