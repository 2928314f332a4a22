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

void check_tokens(const std::vector<TokenSequence>& sequences, Index batch, Index tokens) {
  for (const auto& [row, range] : sequences) {
    if (row >= 0 && row < batch && range.begin >= 0 && range.size() >= 0 && range.end <= tokens) {
      continue;
    }
    refuse(fmt::format("a sequence has the tokens {} .. {} of row {}, of {} rows with {} tokens",
                       range.begin, range.end, row, batch, tokens));
  }
}

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

}  // namespace maskctl::attention::gpu
