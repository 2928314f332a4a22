#include "maskctl/attention/operations/paged/ragged_page_attention.h"

#include <fmt/format.h>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/operations/paged/paged_checks.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

/// K and V heads in turn along one axis.
PagedCache interleaved_cache(const Tensor& pages) {
  if (pages.extent(2) % 2 != 0) {
    throw Error(Errc::kShape, fmt::format("kv_pages is {}, expected 2 heads, K and V, for each key "
                                          "head in axis 2",
                                          shape_text(pages.shape())));
  }
  PagedCache cache = tokens_first_cache(pages, pages);
  cache.heads /= 2;
  cache.head_stride *= 2;
  cache.values += cache.dim * size_bytes(cache.dtype);
  return cache;
}

}  // namespace

Tensor ragged_page_attention(const RaggedPageAttentionInputs& in,
                             const RaggedPageAttentionOptions& options) {
  check_rank("queries", in.queries, 3);
  check_rank("kv_pages", in.kv_pages, 4);
  const Index dim = in.queries->extent(2);
  std::vector<Index> expected = in.kv_pages->shape();
  expected[3] = dim;
  check_shape("kv_pages", *in.kv_pages, expected);
  check_dtypes({{"queries", in.queries}, {"kv_pages", in.kv_pages}});
  PagedProblem problem;
  problem.queries = *in.queries;
  problem.q_heads = in.queries->extent(1);
  problem.cache = interleaved_cache(*in.kv_pages);
  problem.scale = options.softmax_scale.value_or(default_scale(dim));
  problem.soft_cap = options.logits_soft_cap;
  problem.left = left_of_window(options.sliding_window);
  problem.sinks = view_of(in.softmax_aux);
  problem.tiles = {.keys = keys_of_pages(options.num_kv_pages_per_block, problem.cache),
                   .queries = options.num_queries_per_block};
  check_call(problem);
  const auto lengths = integers("context_lens", in.context_lens, {{-1}});
  const Index listed = in.context_lens->extent(0);
  auto tables = integers("block_tables", in.block_tables, {{listed, -1}});
  const Index count = in.num_seqs ? one_integer("num_seqs", *in.num_seqs) : listed;
  const auto rows =
      checked_rows("query_start_loc", in.query_start_loc, listed, count, in.queries->extent(0));
  add_sequences(problem, {"context_lens", "block_tables"}, rows, lengths, std::move(tables),
                in.block_tables->extent(1));
  return paged_attention(problem, Context{options.backend});
}

}  // namespace maskctl::attention
