#include "maskctl/attention/operations/paged/page_attention.h"

#include <fmt/format.h>

#include "maskctl/attention/operations/paged/paged_checks.h"

namespace maskctl::attention {
namespace {

void check_hints(const PageAttentionOptions& options, std::span<const std::int32_t> lengths) {
  if (options.num_splits < 0) {
    refuse(fmt::format("num_splits {} is below 0, which means automatic", options.num_splits));
  }
  for (const std::int32_t length : lengths) {
    if (!options.max_context_len || length <= *options.max_context_len) continue;
    refuse(fmt::format("context_lens holds {}, above max_context_len {}", length,
                       *options.max_context_len));
  }
}

}  // namespace

Tensor page_attention(const PageAttentionInputs& in, const PageAttentionOptions& options) {
  check_decoding_query(in.query);
  check_cache({"query", in.query}, {"key_cache", in.key_cache}, {"value_cache", in.value_cache});
  const Index rows = in.query->extent(0);
  const PagedCache cache = options.kv_layout == KvLayout::kHeadsFirst
                               ? heads_first_cache(*in.key_cache, *in.value_cache)
                               : tokens_first_cache(*in.key_cache, *in.value_cache);
  PagedProblem problem =
      paged_problem(*in.query, cache, options.attn_scale, options.attn_logits_soft_cap);
  check_call(problem);
  const auto lengths = integers("context_lens", in.context_lens, {{rows}});
  auto tables = integers("block_tables", in.block_tables, {{rows, -1}});
  check_hints(options, lengths);
  problem.tiles = {keys_of_pages(options.pages_per_compute_block, problem.cache),
                   options.num_splits};
  std::vector<Range> owned;
  for (Index n = 0; n < rows; ++n) owned.push_back({n, n + (lengths[as_size(n)] != 0)});
  add_sequences(problem, {"context_lens", "block_tables"}, owned, lengths, std::move(tables),
                in.block_tables->extent(1));
  return paged_attention(problem, options.context);
}

}  // namespace maskctl::attention
