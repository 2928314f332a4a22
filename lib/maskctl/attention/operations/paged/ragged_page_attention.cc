#include "maskctl/attention/operations/paged/ragged_page_attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/operations/paged/checked.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// The problem of a call; the caller adds sinks and sequences.
template <class RaggedPageAttentionV3Options>
PagedProblem ragged_problem(const Tensor& queries, const PagedCache& cache,
                            std::optional<double> scale, const RaggedPageAttentionV3Options& o) {
  PagedProblem problem = paged_problem(queries, cache, scale, o.logits_soft_cap);
  problem.left = left_of_window(o.sliding_window);
  problem.tiles = {.keys = keys_of_pages(o.num_kv_pages_per_block, cache),
                   .queries = o.num_queries_per_block};
  return problem;
}

}  // namespace

PagedProblem problem_of(const RaggedPageAttentionInputs& in,
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
  PagedProblem problem = ragged_problem(
      *in.queries, interleaved_cache(*in.kv_pages, in.kv_pages->extent(2) / 2, dim, dim),
      options.softmax_scale, options);
  problem.sinks = view_of(in.softmax_aux);
  check_call(problem);
  const auto lengths = integers("context_lens", in.context_lens, {{-1}});
  const Index listed = in.context_lens->extent(0);
  auto tables = integers("block_tables", in.block_tables, {{listed, -1}});
  const Index count = in.num_seqs ? one_integer("num_seqs", *in.num_seqs) : listed;
  const auto rows =
      checked_rows("query_start_loc", in.query_start_loc, listed, count, in.queries->extent(0));
  add_sequences(problem, {"context_lens", "block_tables"}, rows, lengths, std::move(tables),
                in.block_tables->extent(1));
  return problem;
}

Tensor ragged_page_attention(const RaggedPageAttentionInputs& in,
                             const RaggedPageAttentionOptions& options) {
  return paged_attention(problem_of(in, options), options.context);
}

// Version 3 of ragged page attention.

namespace {

constexpr Index kLanes = 128;  // D is padded to a multiple of this

void check_arrays(const RaggedPageAttentionV3Inputs& in, const Tensor& kv_cache) {
  check_rank("queries", in.queries, 3);
  check_rank("keys", in.keys, 3);
  check_rank("kv_cache", &kv_cache, 5);
  const Index rows = in.queries->extent(0), dim = in.queries->extent(2);
  const std::vector<Index> expected{rows, in.keys->extent(1), dim};
  check_shape("keys", *in.keys, expected);
  check_rank("values", in.values, 3);
  check_shape("values", *in.values, expected);
  check_dtypes(
      {{"queries", in.queries}, {"keys", in.keys}, {"values", in.values}, {"kv_cache", &kv_cache}});
  const Index packing = 4 / size_bytes(kv_cache.dtype());
  check_shape(
      "kv_cache", kv_cache,
      std::vector<Index>{kv_cache.extent(0), kv_cache.extent(1), 2 * in.keys->extent(1) / packing,
                         packing, ceil_div(dim, kLanes) * kLanes});
}

Index checked_count(const Tensor* distribution) {
  const auto ends = integers("distribution", distribution, {{3}});
  if (0 <= ends[0] && ends[0] <= ends[1] && ends[1] <= ends[2]) return ends[2];
  refuse(fmt::format("distribution is {}, {}, {}, expected ends that ascend from 0", ends[0],
                     ends[1], ends[2]));
}

/// The query as a quantized kernel sees it: divided by q_scale, clipped and rounded.
Tensor quantised(const Tensor& queries, double q_scale) {
  Tensor scaled = astype(queries, DType::kFloat32);
  const auto limit = static_cast<float>(largest_number(queries.dtype()));
  for (float& x : scaled.as<float>()) {
    x = std::clamp(x / static_cast<float>(q_scale), -limit, limit);
  }
  return astype(scaled, queries.dtype());
}

/// Writes the new rows of K (first_head 0) or V (first_head 1) to the cache, at the end of their
/// sequences.
void write_rows(const PagedProblem& problem, const Tensor& rows, Index first_head,
                Tensor& kv_cache) {
  const Index bytes = size_bytes(rows.dtype()), heads = rows.extent(1), dim = rows.extent(2);
  const Index lanes = kv_cache.extent(4);
  for (const PagedSequence& s : problem.sequences) {
    for (Index r = s.rows.begin; r < s.rows.end; ++r) {
      const Index slot = problem.element(s, s.keys.end - s.rows.end + r);
      for (Index u = 0; u < heads; ++u) {
        std::byte* const to =
            kv_cache.bytes().data() + (slot + (2 * u + first_head) * lanes) * bytes;
        std::copy_n(rows.bytes().data() + (r * heads + u) * dim * bytes, dim * bytes, to);
        std::fill_n(to + dim * bytes, (lanes - dim) * bytes, std::byte{0});
      }
    }
  }
}

void add_v3_sequences(PagedProblem& problem, const RaggedPageAttentionV3Inputs& in) {
  const auto lengths = integers("kv_lens", in.kv_lens, {{-1}});
  const Index listed = in.kv_lens->extent(0);
  auto tables = integers("block_tables", in.block_tables, {{-1}});
  const Index entries = in.block_tables->extent(0);
  if (listed == 0 ? entries != 0 : entries % listed != 0) {
    refuse(fmt::format("block_tables has {} entries, expected as many for each of the {} sequences",
                       entries, listed));
  }
  const auto rows = checked_rows("query_start_loc", in.query_start_loc, listed,
                                 checked_count(in.distribution), in.queries->extent(0));
  add_sequences(problem, {"kv_lens", "block_tables"}, rows, lengths, std::move(tables),
                listed == 0 ? 0 : entries / listed);
}

/// The sinks [Hq] as [Hq,1]: one per head. A plain [Hq] would mean Hq sinks shared by all heads.
std::optional<Tensor> sinks_per_head(const char* name, const Tensor* sinks, Index q_heads) {
  if (!sinks) return std::nullopt;
  check_rank(name, sinks, 1);
  check_shape(name, *sinks, std::vector<Index>{q_heads});
  Tensor column = *sinks;
  column.reshape({q_heads, 1});
  return column;
}

std::vector<std::int32_t> lengths_of(const char* name, const Tensor* cumulative, Index count) {
  check_rank(name, cumulative, 1);
  check_shape(name, *cumulative, std::vector<Index>{count + 1});
  std::vector<std::int32_t> lengths;
  for (const Range tokens :
       packed_sequences(*cumulative, std::numeric_limits<std::int32_t>::max(), name)) {
    lengths.push_back(static_cast<std::int32_t>(tokens.size()));
  }
  return lengths;
}

double effective_scale(const RaggedPageAttentionV3Options& options) {
  if (options.q_scale && !(*options.q_scale != 0)) refuse("q_scale is 0; leave it out for none");
  return options.softmax_scale * options.q_scale.value_or(1) * options.k_scale.value_or(1);
}

}  // namespace

RaggedV3Problem problem_of(const RaggedPageAttentionV3Inputs& in, Tensor& kv_cache,
                           const RaggedPageAttentionV3Options& options) {
  check_arrays(in, kv_cache);
  const PagedCache cache =
      interleaved_cache(kv_cache, in.keys->extent(1), in.queries->extent(2), kv_cache.extent(4));
  RaggedV3Problem out{ragged_problem(*in.queries, cache, effective_scale(options), options)};
  PagedProblem& problem = out.problem;
  problem.value_scale = options.v_scale.value_or(1);
  out.sinks = sinks_per_head("attention_sink", in.attention_sink, problem.q_heads);
  if (out.sinks) problem.sinks = *out.sinks;
  check_call(problem);
  add_v3_sequences(problem, in);
  write_rows(problem, *in.keys, 0, kv_cache);
  write_rows(problem, *in.values, 1, kv_cache);
  if (options.q_scale) {
    problem.queries = out.queries.emplace(quantised(*in.queries, *options.q_scale));
  }
  return out;
}

Tensor ragged_page_attention_v3(const RaggedPageAttentionV3Inputs& in, Tensor& kv_cache,
                                const RaggedPageAttentionV3Options& options) {
  return paged_attention(problem_of(in, kv_cache, options).problem, options.context);
}

RaggedV3Problem problem_of(const RaggedPageAttentionV3PagesInputs& in,
                           const RaggedPageAttentionOptions& options) {
  check_rank("query", in.query, 3);
  check_cache({"query", in.query}, {"key_pages", in.key_pages}, {"value_pages", in.value_pages});
  RaggedV3Problem out{ragged_problem(*in.query, tokens_first_cache(*in.key_pages, *in.value_pages),
                                     options.softmax_scale, options)};
  PagedProblem& problem = out.problem;
  out.sinks = sinks_per_head("softmax_aux", in.softmax_aux, problem.q_heads);
  if (out.sinks) problem.sinks = *out.sinks;
  check_call(problem);
  check_rank("cu_seqlens_q", in.cu_seqlens_q, 1);
  const Index count = std::max<Index>(in.cu_seqlens_q->extent(0) - 1, 0);
  const auto rows =
      checked_rows("cu_seqlens_q", in.cu_seqlens_q, count, count, in.query->extent(0));
  const std::vector<std::int32_t> lengths = lengths_of("cu_seqlens_k", in.cu_seqlens_k, count);
  auto tables = integers("page_indices", in.page_indices, {{count, -1}});
  add_sequences(problem, {"the length of cu_seqlens_k", "page_indices"}, rows, lengths,
                std::move(tables), in.page_indices->extent(1));
  return out;
}

Tensor ragged_page_attention_v3(const RaggedPageAttentionV3PagesInputs& in,
                                const RaggedPageAttentionOptions& options) {
  return paged_attention(problem_of(in, options).problem, options.context);
}

}  // namespace maskctl::attention
