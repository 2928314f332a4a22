#include "maskctl/attention/operations/paged/ragged_decode_attention.h"

#include <fmt/format.h>

#include <numeric>

#include "maskctl/attention/operations/paged/checked.h"

namespace maskctl::attention {
namespace {

/// The left side of the window. The right side has no effect, because the query is at the last key
/// of its range.
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

PagedProblem problem_of(const RaggedDecodeAttentionInputs& in,
                        const RaggedDecodeAttentionOptions& options) {
  check_decoding_query(in.query);
  check_cache({"query", in.query}, {"key", in.key}, {"value", in.value}, in.query->extent(0));
  // Batch row b is one page, number b, with all S keys.
  PagedProblem problem = paged_problem(*in.query, tokens_first_cache(*in.key, *in.value),
                                       options.softmax_scale, options.logits_soft_cap);
  problem.tables.resize(as_size(in.query->extent(0)));
  std::iota(problem.tables.begin(), problem.tables.end(), 0);
  problem.left = left_of(options.sliding_window);
  problem.sinks = view_of(in.softmax_aux);
  problem.tiles.keys = options.kv_blocksize;
  check_call(problem);
  add_ranges(problem, in);
  return problem;
}

Tensor ragged_decode_attention(const RaggedDecodeAttentionInputs& in,
                               const RaggedDecodeAttentionOptions& options) {
  return paged_attention(problem_of(in, options), options.context);
}

}  // namespace maskctl::attention
