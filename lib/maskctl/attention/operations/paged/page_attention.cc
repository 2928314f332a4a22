#include "maskctl/attention/operations/paged/page_attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/operations/paged/checked.h"
#include "maskctl/tensor/convert.h"

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

/// Whether the cache can have this axis order: the query heads are a multiple of `heads`, and a row
/// of the table has enough pages for the longest sequence.
bool fits(const PageAttentionInputs& in, Index heads, Index page_size) {
  const Index q_heads = in.query->extent(in.query->rank() - 2);
  if (heads < 1 || q_heads % heads != 0) return false;
  const std::vector<std::int32_t> lengths = as_int32(*in.context_lens, "context_lens");
  return lengths.empty() || std::ranges::max(lengths) <= in.block_tables->extent(1) * page_size;
}

}  // namespace

KvLayout layout_of(const PageAttentionInputs& in, const PageAttentionOptions& options) {
  if (options.kv_layout != KvLayout::kUnset) return options.kv_layout;
  const bool ranked = in.query && in.query->rank() >= 3 && in.key_cache &&
                      in.key_cache->rank() == 4 && in.context_lens && in.block_tables &&
                      in.block_tables->rank() == 2;
  if (!ranked) return KvLayout::kHeadsFirst;  // the operation reports what is missing
  const Index a = in.key_cache->extent(1), b = in.key_cache->extent(2);
  const bool is_one_order = a == 1 && b == 1;
  if (is_one_order || !fits(in, b, a)) return KvLayout::kHeadsFirst;
  if (!fits(in, a, b)) return KvLayout::kTokensFirst;
  refuse(
      fmt::format("key_cache is {}: {} heads of {} tokens a page, or pages of {} tokens with {} "
                  "heads; give kv_layout=heads_first or kv_layout=tokens_first",
                  shape_text(in.key_cache->shape()), a, b, a, b));
}

PagedProblem problem_of(const PageAttentionInputs& in, const PageAttentionOptions& options) {
  check_decoding_query(in.query);
  check_cache({"query", in.query}, {"key_cache", in.key_cache}, {"value_cache", in.value_cache});
  const Index rows = in.query->extent(0);
  const PagedCache cache = layout_of(in, options) == KvLayout::kHeadsFirst
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
  return problem;
}

Tensor page_attention(const PageAttentionInputs& in, const PageAttentionOptions& options) {
  return paged_attention(problem_of(in, options), options.context);
}

}  // namespace maskctl::attention
