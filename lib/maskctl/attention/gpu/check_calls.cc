#include "maskctl/attention/gpu/check_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "maskctl/attention/gpu/check_arrays.h"
#include "maskctl/attention/softmax/checked.h"

namespace maskctl::attention::gpu {

void check(const SoftmaxProblem& p) {
  check_dims(p.d, dims_of(p.query, p.key, p.value));
  check_mask(p.mask, p.d);
  check_settings(p.options);
  if (p.bias) check_bias(*p.bias, p.d);
  if (p.sinks) check_sinks(*p.sinks, p.d);
}
void check(const SoftmaxProblem& p, const SoftmaxOutputs& o) {
  check_array("out", o.out, p.d.out_shape(), p.query.dtype());
  check_array("lse", o.lse, p.d.lse_shape(), DType::kFloat32);
}
void check(const SoftmaxProblem& p, const MutableTensorView& weights) {
  check_array("weights", weights, {p.d.batch, p.d.q_heads, p.d.queries, p.d.keys}, DType::kFloat32);
}
namespace {

/// Checks what the backward pass of softmax attention reads beside the problem.
void check_gradients(const Dims& d, const SoftmaxBackwardInputs& in, DType dtype) {
  check_array("out", in.out, d.out_shape(), dtype);
  check_array("lse", in.lse, d.lse_shape(), DType::kFloat32);
  check_floats("d_out", in.d_out, d.out_shape());
  check_given("d_lse", in.d_lse, d.lse_shape());
}

}  // namespace

void check(const SoftmaxProblem& p, const SoftmaxBackwardInputs& in,
           const SoftmaxGradientOutputs& o) {
  check_gradients(p.d, in, p.query.dtype());
  check_gradient("query", o.query, p.query);
  check_gradient("key", o.key, p.key);
  check_gradient("value", o.value, p.value);
  check_gradient("bias", o.bias, p.bias);
  check_gradient("sinks", o.sinks, p.sinks);
}

namespace {

void check_cache(const PagedProblem& p) {
  const PagedCache& cache = p.cache;
  if (p.q_heads < 1 || cache.heads < 1 || cache.dim < 1 || cache.page_size < 1) {
    refuse_shape(
        fmt::format("{} query heads, {} key heads, dim {}, pages of {}: expected at least 1",
                    p.q_heads, cache.heads, cache.dim, cache.page_size));
  }
  check_head_groups(p.q_heads, cache.heads);
  const Index row = p.q_heads * cache.dim;
  if (p.queries.elements() % row != 0) {
    refuse_shape(fmt::format("queries are {}, expected rows of {} heads of {}",
                             shape_text(p.queries.shape()), p.q_heads, cache.dim));
  }
  check_array("queries", p.queries, {p.queries.shape().begin(), p.queries.shape().end()});
  check_float("queries", p.queries);
  if (cache.extent() > 0 && cache.place.space != MemorySpace::kDevice) refuse_place("the cache");
  check_soft_cap(p.soft_cap);
  if (p.left && *p.left < 0) refuse(fmt::format("left is {}, expected 0 or more", *p.left));
  Dims dims;
  dims.q_heads = p.q_heads, dims.kv_heads = cache.heads;
  if (p.sinks) check_sinks(*p.sinks, dims);
}
/// Whether the rows, page numbers and pages of a sequence exist, and it has a key for each row.
bool is_there(const PagedProblem& p, const PagedSequence& s) {
  if (s.rows.begin < 0 || s.rows.end > p.rows() || s.rows.size() < 0) return false;
  if (s.keys.begin < 0 || s.keys.end < s.rows.size() || s.table < 0) return false;
  const Index end = s.table + ceil_div(s.keys.end, p.cache.page_size);
  if (end > std::ssize(p.tables)) return false;
  const Range read = p.read(s);
  for (Index i = read.begin / p.cache.page_size; i * p.cache.page_size < read.end; ++i) {
    const Index page = p.tables[as_size(s.table + i)];
    if (page < 0 || page >= p.cache.pages) return false;
  }
  return true;
}

}  // namespace

void check(const PagedProblem& p) {
  check_cache(p);
  for (std::size_t n = 0; n < p.sequences.size(); ++n) {
    if (is_there(p, p.sequences[n])) continue;
    refuse(fmt::format("sequence {} has rows, keys or pages that are not there: {} rows, {} pages",
                       n, p.rows(), p.cache.pages));
  }
}
void check(const PagedArraysProblem& p) {
  check_cache(p);
  if (!p.sequences.empty() || !p.tables.empty()) {
    refuse("sequences are given on the host and as arrays; give one");
  }
  if (p.arrays.sequences < 0 || p.arrays.width < 0) {
    refuse_shape(fmt::format("{} sequences with tables of {}: expected at least 0",
                             p.arrays.sequences, p.arrays.width));
  }
  if (p.arrays.sequences > 0 && (!p.arrays.lengths || !p.arrays.tables)) {
    refuse("lengths and tables are missing");
  }
}
void check(const PagedProblem& p, const MutableTensorView& out) {
  check_array("out", out, {p.queries.shape().begin(), p.queries.shape().end()}, p.queries.dtype());
}

namespace {

/// How many elements each head of a cache can have before it reaches into the next head.
Index room_of_head(const PagedCache& cache, const CachePages& pages) {
  const Index room = std::min({cache.head_stride, cache.slot_stride, cache.page_stride});
  const Index to_values = std::abs(pages.values - pages.keys) / size_bytes(cache.dtype);
  if (to_values >= cache.head_stride) return room;
  return std::min({room, to_values, cache.head_stride - to_values});
}

}  // namespace

void check(const PagedProblem& p, const NewTokens& tokens, const CachePages& pages) {
  const PagedCache& cache = p.cache;
  const Shape shape{p.rows(), cache.heads, cache.dim};
  check_array("keys", tokens.keys, shape, cache.dtype);
  check_array("values", tokens.values, shape, cache.dtype);
  if (p.rows() > 0 && (!pages.keys || !pages.values)) refuse("the pages to be written are missing");
  if (pages.padding == 0) return;
  const Index room = room_of_head(cache, pages) - cache.dim;
  if (pages.padding < 0 || pages.padding > room) {
    refuse(fmt::format("padding is {}, expected 0 to {}, the elements between heads", pages.padding,
                       std::max<Index>(room, 0)));
  }
}

namespace {

void check_tokens(const std::vector<TokenSequence>& sequences, Index batch, Index tokens) {
  for (const auto& [row, range] : sequences) {
    if (row >= 0 && row < batch && range.begin >= 0 && range.size() >= 0 && range.end <= tokens) {
      continue;
    }
    refuse(fmt::format("a sequence has the tokens {} .. {} of row {}, of {} rows with {} tokens",
                       range.begin, range.end, row, batch, tokens));
  }
}

}  // namespace

void check(const BlockProblem& p) {
  check_dims(p.d, dims_of(p.query, p.key, p.value));
  if (p.d.queries != p.d.keys) {
    refuse_shape(fmt::format("{} queries and {} keys, expected as many", p.d.queries, p.d.keys));
  }
  if (p.block_size < 1) refuse(fmt::format("block_size is {}, expected 1 or more", p.block_size));
  check_tokens(p.sequences, p.d.batch, p.d.queries);
}
void check(const BlockProblem& p, const SoftmaxOutputs& o) {
  check_array("out", o.out, p.d.out_shape(), p.query.dtype());
  check_array("lse", o.lse, p.d.lse_shape(), DType::kFloat32);
}
void check(const BlockProblem& p, const SoftmaxBackwardInputs& in,
           const SoftmaxGradientOutputs& o) {
  check_gradients(p.d, in, p.query.dtype());
  check_gradient("query", o.query, p.query);
  check_gradient("key", o.key, p.key);
  check_gradient("value", o.value, p.value);
}

void check(const SelectionProblem& p) {
  if (!p.blocks || !p.first_blocks) refuse("blocks or first_blocks are missing");
  check(*p.blocks);
  const Dims& d = p.blocks->d;
  check_floats("query", p.query, {d.batch, d.queries, d.q_heads, d.dim});
  check_rank("mean_keys", p.mean_keys, 4);
  check_array("mean_keys", p.mean_keys, {d.batch, p.mean_keys.extent(1), d.kv_heads, d.dim},
              DType::kFloat32);
  for (std::size_t n = 0; n < p.blocks->sequences.size(); ++n) {
    const Index blocks = p.blocks->sequences[n].tokens.size() / p.blocks->block_size;
    const Index first = n < p.first_blocks->size() ? (*p.first_blocks)[n] : -1;
    if (first < 0 || first + blocks > p.mean_keys.extent(1)) {
      refuse_shape(
          fmt::format("sequence {} has {} whole blocks, which mean_keys does not hold", n, blocks));
    }
  }
}
void check(const SelectionProblem& p, const MutableTensorView& selected) {
  const Dims& d = p.blocks->d;
  check_array("selected", selected, {d.batch, d.queries, d.kv_heads, p.blocks->count},
              DType::kInt32);
}

void check(const LinearProblem& p) {
  const LinearDims& d = p.d;
  check_dims({d.batch, d.tokens, d.tokens, d.heads, d.kv_heads, d.key_dim, d.value_dim},
             dims_of(p.query, p.key, p.value));
  check_tokens(d.sequences, d.batch, d.tokens);
  const Shape of_keys{d.batch, d.tokens, d.heads, d.key_dim}, of_heads{d.batch, d.tokens, d.heads};
  check_given("g", p.g, d.g_per_head ? of_heads : of_keys);
  check_given("g_gamma", p.g_gamma, {d.heads});
  check_given("gk", p.gk, of_keys);
  check_given("gv", p.gv, d.out_shape());
  check_given("initial_state", p.initial_state, d.state_shape());
}
void check(const LinearProblem& p, const LinearOutputs& o) {
  check_array("out", o.out, p.d.out_shape(), p.value.dtype());
  check_array("final_state", o.final_state, p.d.state_shape(), DType::kFloat32);
}
void check(const LinearProblem& p, const LinearBackwardInputs& in, const LinearGradientOutputs& o) {
  check_floats("d_out", in.d_out, p.d.out_shape());
  check_given("d_final_state", in.d_final_state, p.d.state_shape());
  check_gradient("query", o.query, p.query);
  check_gradient("key", o.key, p.key);
  check_gradient("value", o.value, p.value);
  check_gradient("g", o.g, p.g);
  check_gradient("g_gamma", o.g_gamma, p.g_gamma);
  check_gradient("gk", o.gk, p.gk);
  check_gradient("gv", o.gv, p.gv);
  check_gradient("initial_state", o.initial_state, p.initial_state);
}

void check(const GroupedProblem& p) {
  const RowGroups& g = p.groups;
  const Index first = p.transpose_rhs ? g.columns : g.inner,
              second = p.transpose_rhs ? g.inner : g.columns;
  check_array("lhs", p.lhs, {g.rows, g.inner});
  check_array("rhs", p.rhs, {g.matrices(), first, second});
  check_factors({{"lhs", &p.lhs}, {"rhs", &p.rhs}});
  check_given("existing_out", p.existing_out, {g.rows, g.columns});
  if (!g.order.empty() && std::ssize(g.order) != g.rows) {
    refuse_shape(fmt::format("order has {} rows and lhs {}", g.order.size(), g.rows));
  }
  for (const Index row : g.order) {
    if (row < 0 || row >= g.rows) refuse(fmt::format("order names row {} of {}", row, g.rows));
  }
  for (Index n = 0, end = 0; n < g.matrices(); ++n) {
    const Range rows = g.positions[as_size(n)];
    if (rows.begin < end || rows.size() < 0 || rows.end > g.rows) {
      refuse(fmt::format("group {} has the rows {} .. {}, expected {} .. {} at most", n, rows.begin,
                         rows.end, end, g.rows));
    }
    end = rows.end;
  }
}
void check(const GroupedProblem& p, const MutableTensorView& out) {
  check_floats("out", out, {p.groups.rows, p.groups.columns});
  if (p.existing_out) check_gradient("existing_out", out, *p.existing_out);
}
void check(const GroupedProblem& p, const TensorView& d_out, const GroupedGradientOutputs& o) {
  check_floats("d_out", d_out, {p.groups.rows, p.groups.columns});
  check_gradient("lhs", o.lhs, p.lhs);
  check_gradient("rhs", o.rhs, p.rhs);
}

void check(const PoolingProblem& p) {
  check_factors({{"x", &p.x}});
  if (p.x.elements() != p.tokens * p.width) {
    refuse_shape(fmt::format("x is {}, expected {} tokens of {}", shape_text(p.x.shape()), p.tokens,
                             p.width));
  }
  check_array("x", p.x, {p.x.shape().begin(), p.x.shape().end()});
  if (!p.counted.empty() && std::ssize(p.counted) != p.tokens) {
    refuse_shape(fmt::format("{} tokens count or not, of {}", p.counted.size(), p.tokens));
  }
  for (const Range segment : p.segments) {
    if (segment.begin < 0 || segment.size() < 0 || segment.end > p.tokens) {
      refuse(fmt::format("a segment has the tokens {} .. {}, of {}", segment.begin, segment.end,
                         p.tokens));
    }
  }
}
void check(const PoolingProblem& p, const MutableTensorView& out) {
  check_array("out", out, p.out_shape, p.x.dtype());
  if (out.elements() != std::ssize(p.segments) * p.width) {
    refuse_shape(fmt::format("out is {}, expected {} means of {}", shape_text(p.out_shape),
                             p.segments.size(), p.width));
  }
}

}  // namespace maskctl::attention::gpu
