// Paged attention whose sequences are arrays of the GPU: the problem that its kernels receive.
#pragma once

#include <cstdint>

#include "maskctl/attention/problems/paged_problem.h"

namespace maskctl::attention {

/// Sequences as arrays on the GPU, so that their lengths can change between calls without the host.
/// Sequence n has lengths[n] tokens, which include those of its rows. Its token p is in slot
/// p % page_size of page tables[n * width + p / page_size]. Nothing past the last token is read.
struct PagedArrays {
  const std::int32_t* lengths = nullptr;  // [sequences]
  const std::int32_t* tables = nullptr;   // [sequences, width]
  /// [sequences + 1], nondecreasing from 0: sequence n has the rows starts[n] .. starts[n + 1] - 1.
  /// null: it has row n.
  const std::int32_t* starts = nullptr;
  Index sequences = 0, width = 0;
  /// Where each call writes, on the GPU, what is wrong with the arrays: a sum of PagedStatus, 0 if
  /// all is well. Rows of a bad sequence become NaN, and its new tokens are written nowhere;
  /// nothing is read out of bounds. If null, the arrays are not checked: whoever made them must
  /// have done so.
  int* status = nullptr;
};

enum PagedStatus : int {
  kBadRows = 1,  // `starts` falls, does not begin at 0 or ends past the queries: all rows are NaN
  kBadLengths = 2,  // a length is past the table, or below the number of rows
  kBadPages = 4,    // a page that would be read or written is not in the cache
};

/// A problem that has arrays in place of `sequences` and `tables`.
struct PagedArraysProblem : PagedProblem {
  PagedArrays arrays;
};

}  // namespace maskctl::attention
