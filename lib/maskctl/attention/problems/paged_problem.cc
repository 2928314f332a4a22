// Where the rows, pages and positions of paged attention are in memory.
#include "maskctl/attention/problems/paged_problem.h"

#include <utility>

namespace maskctl::attention {

PagedCache heads_first_cache(const Tensor& keys, const Tensor& values) {
  const Index heads = keys.extent(1), size = keys.extent(2), dim = keys.extent(3);
  PagedCache cache{keys.dtype(), keys.bytes().data(), values.bytes().data()};
  cache.pages = keys.extent(0), cache.page_size = size, cache.heads = heads, cache.dim = dim;
  cache.page_stride = heads * size * dim, cache.head_stride = size * dim, cache.slot_stride = dim;
  return cache;
}

PagedCache tokens_first_cache(const Tensor& keys, const Tensor& values) {
  PagedCache cache = heads_first_cache(keys, values);
  std::swap(cache.heads, cache.page_size);
  std::swap(cache.head_stride, cache.slot_stride);
  return cache;
}

Range PagedProblem::visible(const PagedSequence& s, Index row) const {
  const Index position = s.keys.end - s.rows.end + row;
  const Index first = left ? position - *left : s.keys.begin;
  return {std::max(first, s.keys.begin), position + 1};
}

Range PagedProblem::read(const PagedSequence& s) const {
  if (s.rows.empty() || s.keys.empty()) return {};
  return {visible(s, s.rows.begin).begin, s.keys.end};
}

Index PagedProblem::element(const PagedSequence& s, Index position) const {
  const Index page = tables[as_size(s.table + position / cache.page_size)];
  return page * cache.page_stride + position % cache.page_size * cache.slot_stride;
}

void PagedProblem::elements(const PagedSequence& s, Range positions,
                            std::vector<Index>& out) const {
  out.resize(as_size(positions.size()));
  Index page = positions.begin / cache.page_size, slot = positions.begin % cache.page_size;
  for (Index& element : out) {
    element = tables[as_size(s.table + page)] * cache.page_stride + slot * cache.slot_stride;
    if (++slot == cache.page_size) slot = 0, ++page;
  }
}

}  // namespace maskctl::attention
