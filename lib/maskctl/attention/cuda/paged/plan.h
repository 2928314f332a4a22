// The plan of calls over pages: their sequences on the GPU, and how decoding divides its work.
#pragma once

#include <algorithm>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/paged/prompts/room.h"
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

}  // namespace maskctl::attention::cuda
