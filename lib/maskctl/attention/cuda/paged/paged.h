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
  /// For a problem whose sequences and tables are on the host, where its operation checked them.
  PagedPlan(const PagedProblem& problem, Stream stream);
  /// For arrays that stay on the GPU as long as the plan is used.
  PagedPlan(const PagedArraysProblem& problem, Stream) : arrays_(problem.arrays) {}

  /// null when `arrays` has them.
  const PagedSequence* sequences() const { return sequences_; }
  const PagedArrays& arrays() const { return arrays_; }
  /// On the GPU: how decode() divides the work of `sequences`; null where it is divided in each
  /// call.
  std::byte* divided_work() const { return divided_work_; }
  /// Keys of the longest sequence; with arrays of the GPU, as many as a table holds.
  Index most_keys(const PagedCache& cache) const {
    return sequences() ? most_keys_ : arrays_.width * cache.page_size;
  }
  /// The room for copies of the keys and values of the problem's prompts.
  PromptRoom prompts(const PagedProblem& problem) const {
    return sequences() ? prompts_ : prompt_room(problem, arrays_);
  }
  /// The most rows of a sequence that is not a prompt; with arrays of the GPU, whose lengths the
  /// host does not know, the mean rows of a sequence.
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

/// The arrays of the problem and `out` are on the GPU. Equal calls give equal bits.
void paged(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan,
           const MutableTensorView& out);

/// The most bytes of one head of a key: each thread of a block takes 16 of them.
constexpr Index kMostHeadBytes = 4096;
/// Why paged() cannot take a problem: its heads have more bytes.
std::string paged_unsupported(const PagedProblem& problem);

class HostCall;
/// The problem with its arrays on the GPU; keys and values that share memory are copied once.
PagedProblem to_device(HostCall& host_call, PagedProblem problem);

}  // namespace maskctl::attention::cuda
