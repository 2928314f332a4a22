// Checks of paged attention calls, which throw Error(kShape, kInvalidArgument), and the paged
// attention of a call that has passed them.
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

/// Throws unless the query is [rows,Hq,D] or [rows,1,Hq,D].
void check_decoding_query(const Tensor* query);
/// Throws unless keys and values are [pages,..,..,D] of one shape, with the D of the queries, and
/// all three have one dtype. If `pages` is not -1, it must be the first extent.
void check_cache(const NamedTensor& queries, const NamedTensor& keys, const NamedTensor& values,
                 Index pages = -1);

/// A cache of pages [pages,page_size,...] in which the K and V of each head alternate; each of them
/// takes `lanes` elements.
PagedCache interleaved_cache(const Tensor& kv, Index heads, Index dim, Index lanes);
/// Makes a problem without its sequences. The default scale is 1 / sqrt(D).
PagedProblem paged_problem(const Tensor& queries, const PagedCache& cache,
                           std::optional<double> scale, std::optional<double> soft_cap);

/// Throws unless query heads and D fit the cache, the soft cap is above 0, and sinks have a valid
/// shape and dtype.
void check_call(const PagedProblem& problem);

/// The row ranges of the first `sequences` of `listed` sequences. Throws unless `starts` begins at
/// 0, never decreases and ends at `rows` or before.
std::vector<Range> checked_rows(const char* name, const Tensor* starts, Index listed,
                                Index sequences, Index rows);

/// Argument names for the messages of add_sequences().
struct SequenceArrays {
  const char* lengths_name;
  const char* table_name;
};
/// Adds all sequences to the problem. Sequence n has the query rows rows[n], lengths[n] tokens and
/// the `width` page numbers in row n of `table`. Throws if a length does not fit into the table or
/// is less than the number of query rows, or if a page that will be read does not exist.
void add_sequences(PagedProblem& problem, const SequenceArrays& names, std::span<const Range> rows,
                   std::span<const std::int32_t> lengths, std::vector<std::int32_t> table,
                   Index width);

/// Converts a window of w keys to `left` = w - 1. Throws if w is below 1.
std::optional<Index> left_of_window(std::optional<Index> sliding_window);

/// Checks a call and makes its problem, which refers to the arrays of the call.
PagedProblem problem_of(const PageAttentionInputs& in, const PageAttentionOptions& options);
PagedProblem problem_of(const RaggedDecodeAttentionInputs& in,
                        const RaggedDecodeAttentionOptions& options);
PagedProblem problem_of(const RaggedPageAttentionInputs& in,
                        const RaggedPageAttentionOptions& options);

/// The problem of a version 3 call, and the arrays made for it that it refers to.
struct RaggedV3Problem {
  PagedProblem problem;
  std::optional<Tensor> sinks = {}, queries = {};
};
/// Writes the new keys and values to the cache, and makes the problem.
RaggedV3Problem problem_of(const RaggedPageAttentionV3Inputs& in, Tensor& kv_cache,
                           const RaggedPageAttentionV3Options& options);
RaggedV3Problem problem_of(const RaggedPageAttentionV3PagesInputs& in,
                           const RaggedPageAttentionOptions& options);

/// Softmax over the visible keys, times the values and value_scale, in the shape and dtype of the
/// queries. Rows that belong to no sequence or see no key are 0.
Tensor paged_attention(const PagedProblem& problem, const Context& context);

}  // namespace maskctl::attention
