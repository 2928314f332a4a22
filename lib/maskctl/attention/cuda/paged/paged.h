// Attention over pages on the GPU, for decoding and for many rows of each sequence.
#pragma once

#include <cstdint>
#include <string>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/problems/paged_problem.h"

namespace maskctl::attention::cuda {

/// Sequences as arrays of the GPU, where their lengths may change between calls. Sequence n has
/// lengths[n] tokens, those of its rows included; token p of it is in slot p % page_size of page
/// tables[n * width + p / page_size], and nothing past the last token is read.
struct PagedArrays {
  const std::int32_t* lengths = nullptr;  // [sequences]
  const std::int32_t* tables = nullptr;   // [sequences, width]
  /// [sequences + 1], nondecreasing from 0: sequence n has the rows starts[n] .. starts[n + 1] - 1.
  /// null: it has row n.
  const std::int32_t* starts = nullptr;
  Index sequences = 0, width = 0;
};

/// Bits of PagedPlan::status.
enum PagedStatus : int {
  kBadRows = 1,  // `starts` falls, does not begin at 0 or ends past the queries: all rows are NaN
  kBadLengths = 2,  // a length is past the table, or below the number of rows
  kBadPages = 4,    // a page that would be read is not in the cache
};

enum class PagedCheck : std::uint8_t {
  kCheck,  // before each call, on the GPU
  kTrust,  // whoever made the arrays has checked them
};

/// The sequences of a call, on the GPU.
class PagedPlan {
 public:
  /// For a problem whose sequences and tables are on the host, where its operation checked them.
  PagedPlan(const PagedProblem& problem, Stream stream);
  /// For arrays that stay on the GPU as long as the plan is used; the problems of its calls have
  /// neither sequences nor tables. Bad entries never lead to reads out of bounds: rows of a bad
  /// sequence become NaN, and status() says why.
  PagedPlan(const PagedArrays& arrays, Stream stream, PagedCheck check = PagedCheck::kCheck);

  /// On the GPU, what the last call found: PagedStatus or 0. null when nothing is checked.
  int* status() const { return reinterpret_cast<int*>(status_.data()); }
  /// null when `arrays` has them.
  const PagedSequence* sequences() const { return sequences_.data(); }
  const PagedArrays& arrays() const { return arrays_; }
  /// Keys of the longest sequence; with arrays of the GPU, as many as a table holds.
  Index most_keys(const PagedCache& cache) const {
    return sequences() ? most_keys_ : arrays_.width * cache.page_size;
  }
  /// Rows of the sequence with the most; with arrays of the GPU, the mean.
  Index usual_rows(Index rows) const {
    if (sequences()) return most_rows_;
    return arrays_.starts ? ceil_div(rows, std::max<Index>(arrays_.sequences, 1)) : 1;
  }

 private:
  DeviceArray<PagedSequence> sequences_;
  DeviceArray<std::int32_t> tables_;
  DeviceBuffer status_;
  PagedArrays arrays_;
  Index most_keys_ = 0, most_rows_ = 0;
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
