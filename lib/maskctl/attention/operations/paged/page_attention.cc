#include "maskctl/attention/operations/paged/page_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/operations/paged/paged_checks.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

/// [N,Hq,D] or [N,1,Hq,D].
void check_query(const Tensor* query) {
  if (query && query->rank() == 4 && query->extent(1) == 1) return;
  check_rank("query", query, 3);
}

void check_caches(const PageAttentionInputs& in, Index dim) {
  check_rank("key_cache", in.key_cache, 4);
  check_rank("value_cache", in.value_cache, 4);
  std::vector<Index> expected = in.key_cache->shape();
  expected[3] = dim;
  check_shape("key_cache", *in.key_cache, expected);
  check_shape("value_cache", *in.value_cache, expected);
  check_dtypes({{"query", in.query}, {"key_cache", in.key_cache}, {"value_cache", in.value_cache}});
}

void check_hints(const PageAttentionOptions& options, std::span<const std::int32_t> lengths) {
  if (options.num_splits < 0) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("num_splits {} is below 0, which means automatic", options.num_splits));
  }
  for (const std::int32_t length : lengths) {
    if (!options.max_context_len || length <= *options.max_context_len) continue;
    throw Error(Errc::kInvalidArgument,
                fmt::format("context_lens holds {}, above max_context_len {}", length,
                            *options.max_context_len));
  }
}

}  // namespace

Tensor page_attention(const PageAttentionInputs& in, const PageAttentionOptions& options) {
  check_query(in.query);
  const Index rows = in.query->extent(0), dim = in.query->extent(in.query->rank() - 1);
  check_caches(in, dim);
  PagedProblem problem;
  problem.queries = *in.query;
  problem.q_heads = in.query->extent(in.query->rank() - 2);
  problem.cache = options.kv_layout == KvLayout::kHeadsFirst
                      ? heads_first_cache(*in.key_cache, *in.value_cache)
                      : tokens_first_cache(*in.key_cache, *in.value_cache);
  problem.scale = options.attn_scale.value_or(default_scale(dim));
  problem.soft_cap = options.attn_logits_soft_cap;
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
  return paged_attention(problem, Context{options.backend});
}

}  // namespace maskctl::attention
