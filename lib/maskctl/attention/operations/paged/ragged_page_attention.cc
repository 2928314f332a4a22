#include "maskctl/attention/operations/paged/ragged_page_attention.h"

#include <fmt/format.h>

#include "maskctl/attention/operations/paged/paged_checks.h"

namespace maskctl::attention {

Tensor ragged_page_attention(const RaggedPageAttentionInputs& in,
                             const RaggedPageAttentionOptions& options) {
  check_rank("queries", in.queries, 3);
  check_cache({"queries", in.queries}, {"kv_pages", in.kv_pages}, {"kv_pages", in.kv_pages});
  if (in.kv_pages->extent(2) % 2 != 0) {
    refuse_shape(
        fmt::format("kv_pages is {}, expected 2 heads, K and V, for each key head in "
                    "axis 2",
                    shape_text(in.kv_pages->shape())));
  }
  const Index dim = in.queries->extent(2);
  PagedProblem problem = paged_problem(
      *in.queries, interleaved_cache(*in.kv_pages, in.kv_pages->extent(2) / 2, dim, dim),
      options.softmax_scale, options.logits_soft_cap);
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
