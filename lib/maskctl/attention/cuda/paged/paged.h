// Attention over pages on the GPU, for decoding and for many rows of each sequence.
#pragma once

#include <string>
#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/paged/prompts.h"
#include "maskctl/attention/problems/paged_arrays.h"

namespace maskctl::attention::cuda {

/// The sequences of a call, on the GPU.
class PagedPlan {
 public:
  /// For sequences and page tables on the host, which the operation has checked.
  PagedPlan(const PagedProblem& problem, Stream stream);
  /// For sequences and page tables in arrays on the GPU, which must stay there as long as the plan
  /// is used.
  PagedPlan(const PagedArraysProblem& problem, Stream) : arrays_(problem.arrays) {}

  /// The sequences, on the GPU; null if arrays() has them.
  const PagedSequence* sequences() const { return sequences_; }
  const PagedArrays& arrays() const { return arrays_; }
  /// How decode() divides the work of sequences() among blocks, on the GPU; null if each call
  /// divides the work itself.
  std::byte* divided_work() const { return divided_work_; }
  /// The number of keys of the longest sequence. If lengths are only on the GPU, as many keys as a
  /// page table holds.
  Index most_keys(const PagedCache& cache) const {
    return sequences() ? most_keys_ : arrays_.width * cache.page_size;
  }
  /// The room for copies of the keys and values of the problem's prompts.
  PromptRoom prompts(const PagedProblem& problem) const {
    return sequences() ? prompts_ : prompt_room(problem, arrays_);
  }
  /// The number of rows of the longest sequence that is not a prompt. If lengths are only on the
  /// GPU, the mean number of rows of a sequence.
  Index usual_rows(Index rows) const {
    if (sequences()) return most_rows_;
    return arrays_.starts ? ceil_div(rows, std::max<Index>(arrays_.sequences, 1)) : 1;
  }

 private:
  DeviceBuffer memory_;  // holds the sequences, their page numbers and divided_work()
  const PagedSequence* sequences_ = nullptr;
  std::byte* divided_work_ = nullptr;
  PagedArrays arrays_;
  Index most_keys_ = 0, most_rows_ = 0;
  PromptRoom prompts_;
};

/// Computes attention over pages, with all arrays on the GPU. Equal calls give equal bits.
void paged(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan,
           const MutableTensorView& out);

/// The most bytes of one head of a key: each thread of a block takes 16 of them.
constexpr Index kMostHeadBytes = 4096;
/// Why paged() cannot take a problem: a head of a key has more than kMostHeadBytes; empty when it
/// can.
std::string paged_unsupported(const PagedProblem& problem);

class HostCall;
/// Copies the arrays of a problem to the GPU; keys and values that share memory are copied once.
PagedProblem to_device(HostCall& host_call, PagedProblem problem);

}  // namespace maskctl::attention::cuda
