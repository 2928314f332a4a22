// Attention over pages of a call that is checked already, and its checks, which throw
// Error(kShape, kInvalidArgument).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/operations/paged/page_attention.h"
#include "maskctl/attention/operations/paged/ragged_decode_attention.h"
#include "maskctl/attention/operations/paged/ragged_page_attention.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/attention/problems/paged_problem.h"

namespace maskctl::attention {

/// [rows,Hq,D] or [rows,1,Hq,D].
void check_decoding_query(const Tensor* query);
/// Keys and values [pages,..,..,D], D of the queries, of one shape and all of one dtype; `pages` of
/// -1 fits any.
void check_cache(const NamedTensor& queries, const NamedTensor& keys, const NamedTensor& values,
                 Index pages = -1);

/// K and V heads in turn, `lanes` elements apart, in pages [pages,page_size,...].
PagedCache interleaved_cache(const Tensor& kv, Index heads, Index dim, Index lanes);
/// A call without its sequences; without a scale it is 1 / sqrt(D).
PagedProblem paged_problem(const Tensor& queries, const PagedCache& cache,
                           std::optional<double> scale, std::optional<double> soft_cap);

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

/// A call as kernels take it, checked; its arrays must live as long.
PagedProblem problem_of(const PageAttentionInputs& in, const PageAttentionOptions& options);
PagedProblem problem_of(const RaggedDecodeAttentionInputs& in,
                        const RaggedDecodeAttentionOptions& options);
PagedProblem problem_of(const RaggedPageAttentionInputs& in,
                        const RaggedPageAttentionOptions& options);

/// A call of version 3, and the arrays that it reads in place of its own.
struct RaggedV3Problem {
  PagedProblem problem;
  std::optional<Tensor> sinks = {}, queries = {};
};
/// Writes the new keys and values to the cache.
RaggedV3Problem problem_of(const RaggedPageAttentionV3Inputs& in, Tensor& kv_cache,
                           const RaggedPageAttentionV3Options& options);
RaggedV3Problem problem_of(const RaggedPageAttentionV3PagesInputs& in,
                           const RaggedPageAttentionOptions& options);

/// Softmax over the visible keys, times the values and value_scale, in the shape and dtype of the
/// queries. Rows of no sequence and rows that see nothing are 0.
Tensor paged_attention(const PagedProblem& problem, const Context& context);

}  // namespace maskctl::attention
