// Checks of arrays that describe pages, before any work. All throw Error(kShape, kInvalidArgument).
#pragma once

#include <span>
#include <vector>

#include "maskctl/attention/operations/paged/paged_problem.h"

namespace maskctl::attention {

/// An array of integers of the given shape; extents of -1 fit any.
std::vector<std::int32_t> integers(const char* name, const Tensor* array,
                                   std::span<const Index> shape);
/// The only element of an array of one.
Index one_integer(const char* name, const Tensor& array);

/// [Hq, D] of the queries against the cache, cap above 0, shape and dtype of sinks.
void check_call(const PagedProblem& problem);

/// Rows of the first `sequences` of the `listed` sequences; their starts begin at 0, never
/// decrease and end at `rows` or before.
std::vector<Range> checked_rows(const char* name, const Tensor* starts, Index listed,
                                Index sequences, Index rows);

/// Adds sequences n of rows[n] and lengths[n] tokens with their rows of the table, `width` pages
/// each. Lengths fit the table and are not below the number of rows; pages that will be read exist.
struct SequenceArrays {
  const char* lengths_name;
  const char* table_name;
};
void add_sequences(PagedProblem& problem, const SequenceArrays& names, std::span<const Range> rows,
                   std::span<const std::int32_t> lengths, std::vector<std::int32_t> table,
                   Index width);

/// The `left` of a window of w keys. Throws below 1.
std::optional<Index> left_of_window(std::optional<Index> sliding_window);

}  // namespace maskctl::attention
