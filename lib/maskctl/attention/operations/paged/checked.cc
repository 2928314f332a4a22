#include "maskctl/attention/operations/paged/checked.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/problems/backends.h"
#include "maskctl/attention/softmax/checked.h"

namespace maskctl::attention {
namespace {

void check_pages(const PagedProblem& problem, const PagedSequence& s, std::size_t n,
                 const char* name) {
  const Range read = problem.read(s);
  if (read.empty()) return;
  const Index size = problem.cache.page_size;
  for (Index p = read.begin / size; p <= (read.end - 1) / size; ++p) {
    const Index page = problem.tables[as_size(s.table + p)];
    if (page >= 0 && page < problem.cache.pages) continue;
    refuse(fmt::format("{}: page {} of sequence {} is {}, outside the {} pages of the cache", name,
                       p, n, page, problem.cache.pages));
  }
}

}  // namespace

void check_decoding_query(const Tensor* query) {
  if (query && query->rank() == 4 && query->extent(1) == 1) return;
  check_rank("query", query, 3);
}

void check_cache(const NamedTensor& queries, const NamedTensor& keys, const NamedTensor& values,
                 Index pages) {
  check_rank(keys.name, keys.tensor, 4);
  check_rank(values.name, values.tensor, 4);
  std::vector<Index> expected = keys.tensor->shape();
  expected[3] = queries.tensor->shape().back();
  if (pages >= 0) expected[0] = pages;
  check_shape(keys.name, *keys.tensor, expected);
  check_shape(values.name, *values.tensor, expected);
  check_dtypes({queries, keys, values});
}

PagedCache interleaved_cache(const Tensor& kv, Index heads, Index dim, Index lanes) {
  PagedCache cache{kv.dtype(), kv.bytes().data(), kv.bytes().data()};
  cache.values += lanes * size_bytes(kv.dtype());
  cache.pages = kv.extent(0), cache.page_size = kv.extent(1), cache.heads = heads, cache.dim = dim;
  cache.head_stride = 2 * lanes, cache.slot_stride = heads * cache.head_stride;
  cache.page_stride = cache.page_size * cache.slot_stride;
  return cache;
}

PagedProblem paged_problem(const Tensor& queries, const PagedCache& cache,
                           std::optional<double> scale, std::optional<double> soft_cap) {
  PagedProblem problem;
  problem.queries = queries;
  problem.q_heads = queries.extent(queries.rank() - 2);
  problem.cache = cache;
  problem.scale = scale.value_or(default_scale(cache.dim));
  problem.soft_cap = soft_cap;
  return problem;
}

void check_call(const PagedProblem& problem) {
  check_head_groups(problem.q_heads, problem.cache.heads);
  check_soft_cap(problem.soft_cap);
  if (!problem.sinks) return;
  Dims dims;
  dims.q_heads = problem.q_heads, dims.kv_heads = problem.cache.heads;
  check_sinks(*problem.sinks, dims);
}

std::vector<Range> checked_rows(const char* what, const Tensor* starts, Index listed,
                                Index sequences, Index rows) {
  if (sequences < 0 || sequences > listed) {
    refuse(fmt::format("{} sequences, expected 0 to {}, the number listed", sequences, listed));
  }
  const std::vector<std::int32_t> all = integers(what, starts, {{listed + 1}});
  Tensor used(DType::kInt32, {sequences + 1});
  std::copy_n(all.begin(), used.elements(), used.as<std::int32_t>().begin());
  return packed_sequences(used, rows, what);
}

void add_sequences(PagedProblem& problem, const SequenceArrays& names, std::span<const Range> rows,
                   std::span<const std::int32_t> lengths, std::vector<std::int32_t> table,
                   Index width) {
  problem.tables = std::move(table);
  const Index size = problem.cache.page_size;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const Index length = lengths[n];
    if (length < 0 || length > width * size) {
      refuse(fmt::format("{}[{}] is {}, outside 0 to {}: {} pages of {}", names.lengths_name, n,
                         length, width * size, width, size));
    }
    if (length < rows[n].size()) {
      refuse(fmt::format("{}[{}] is {}, below the {} rows of the sequence, which it includes",
                         names.lengths_name, n, length, rows[n].size()));
    }
    problem.sequences.push_back({rows[n], {0, length}, static_cast<Index>(n) * width});
    check_pages(problem, problem.sequences.back(), n, names.table_name);
  }
}

std::optional<Index> left_of_window(std::optional<Index> sliding_window) {
  if (!sliding_window) return std::nullopt;
  if (*sliding_window < 1) {
    refuse(fmt::format("sliding_window {} is not above 0; leave it out for none", *sliding_window));
  }
  return *sliding_window - 1;
}

Tensor paged_attention(const PagedProblem& problem, const Context& context) {
  Tensor out = unwritten_like(problem.queries);
  run_kernel(context, "paged", &Kernels::paged, problem, out);
  return out;
}

}  // namespace maskctl::attention
