#include "maskctl/attention/operations/paged/ragged_decode_attention.h"

#include <fmt/format.h>

#include <numeric>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/operations/paged/paged_checks.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Errc::kInvalidArgument, message);
}

void check_arrays(const RaggedDecodeAttentionInputs& in) {
  const bool has_time = in.query && in.query->rank() == 4 && in.query->extent(1) == 1;
  if (!has_time) check_rank("query", in.query, 3);
  check_rank("key", in.key, 4);
  check_rank("value", in.value, 4);
  std::vector<Index> expected = in.key->shape();
  expected[0] = in.query->extent(0), expected[3] = in.query->extent(in.query->rank() - 1);
  check_shape("key", *in.key, expected);
  check_shape("value", *in.value, expected);
  check_dtypes({{"query", in.query}, {"key", in.key}, {"value", in.value}});
}

/// The query is the last token that it may see, so nothing is to the right of it.
std::optional<Index> left_of(const std::optional<Window>& window) {
  if (!window) return std::nullopt;
  for (const auto& side : {window->left, window->right}) {
    if (side && *side < 0) {
      refuse(fmt::format("sliding_window holds {}, expected 0 or more; leave a side out for none",
                         *side));
    }
  }
  return window->left;
}

void add_ranges(PagedProblem& problem, const RaggedDecodeAttentionInputs& in) {
  const Index batch = in.query->extent(0), keys = in.key->extent(1);
  const auto starts = integers("sequence_start", in.sequence_start, {{batch}});
  const auto ends = integers("sequence_end", in.sequence_end, {{batch}});
  for (Index n = 0; n < batch; ++n) {
    const Range range{starts[as_size(n)], ends[as_size(n)]};
    if (range.begin < 0 || range.end < range.begin || range.end > keys) {
      refuse(fmt::format("sequence {} is {} to {}, expected 0 <= start <= end <= {}", n,
                         range.begin, range.end, keys));
    }
    problem.sequences.push_back({{n, n + !range.empty()}, range, n});
  }
}

}  // namespace

Tensor ragged_decode_attention(const RaggedDecodeAttentionInputs& in,
                               const RaggedDecodeAttentionOptions& options) {
  check_arrays(in);
  const Index rank = in.query->rank();
  PagedProblem problem;
  problem.queries = *in.query;
  problem.q_heads = in.query->extent(rank - 2);
  // Row b is page b, which holds all its keys.
  problem.cache = tokens_first_cache(*in.key, *in.value);
  problem.tables.resize(as_size(in.query->extent(0)));
  std::iota(problem.tables.begin(), problem.tables.end(), 0);
  problem.scale = options.softmax_scale.value_or(default_scale(problem.cache.dim));
  problem.soft_cap = options.logits_soft_cap;
  problem.left = left_of(options.sliding_window);
  problem.sinks = view_of(in.softmax_aux);
  problem.tiles.keys = options.kv_blocksize;
  check_call(problem);
  add_ranges(problem, in);
  return paged_attention(problem, Context{options.backend});
}

}  // namespace maskctl::attention
