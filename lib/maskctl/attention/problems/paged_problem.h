// What all attention over pages comes down to: rows of queries at the end of sequences whose keys
// and values lie in slots of pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "maskctl/attention/problems/dims.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// The D elements of key head u in slot s of page p begin at element
/// p * page_stride + s * slot_stride + u * head_stride of `keys` and of `values`.
struct PagedCache {
  DType dtype = DType::kFloat32;
  const std::byte* keys = nullptr;
  const std::byte* values = nullptr;
  Index pages = 0, page_size = 0, heads = 0, dim = 0;
  Index page_stride = 0, slot_stride = 0, head_stride = 0;
  MemoryPlace place = {};  // place of both arrays

  /// From the first element of an array to its last.
  Index extent() const {
    if (pages * page_size * heads * dim == 0) return 0;
    return (pages - 1) * page_stride + (page_size - 1) * slot_stride + (heads - 1) * head_stride +
           dim;
  }
  bool heads_first() const { return head_stride > slot_stride; }
};

/// [pages, heads, page_size, D] or [pages, page_size, heads, D].
PagedCache heads_first_cache(const Tensor& keys, const Tensor& values);
PagedCache tokens_first_cache(const Tensor& keys, const Tensor& values);

/// Consecutive rows of queries; the last one is at position keys.end - 1 and sees nothing before
/// keys.begin.
struct PagedSequence {
  Range rows;
  Range keys;
  Index table = 0;  // index in PagedProblem::tables of its first page number
};

/// How kCpu cuts a call, whatever it is rounded to; 0 is its own choice.
struct PagedTiles {
  Index keys = 0;     // keys of a row read at a time
  Index splits = 0;   // parts of the keys of a row, each a task
  Index queries = 0;  // queries of a tile, for gathered sequences
};

/// A hint in pages as a number of keys.
inline Index keys_of_pages(Index pages, const PagedCache& cache) {
  constexpr Index kMost = 1024;
  return std::clamp<Index>(pages, 0, kMost) * cache.page_size;
}

/// One call, checked, as kernels take it.
struct PagedProblem {
  TensorView queries;  // [.., Hq, D]: rows of Hq * D elements
  Index q_heads = 0;
  PagedCache cache;
  std::vector<PagedSequence> sequences;
  std::vector<std::int32_t> tables;
  std::optional<Index> left;  // a row at position p sees nothing before p - left
  double scale = 1, value_scale = 1;
  std::optional<double> soft_cap;
  std::optional<TensorView> sinks;  // [n], [Hkv,n] or [Hq,n]
  PagedTiles tiles;

  Index rows() const { return queries.elements() / std::max<Index>(q_heads * cache.dim, 1); }
  Index group() const { return q_heads / cache.heads; }
  /// The positions that a row (of all queries) sees.
  Range visible(const PagedSequence& sequence, Index row) const;
  /// The positions that any row sees: all that is ever read.
  Range read(const PagedSequence& sequence) const;
  /// The element of head 0 at a position.
  Index element(const PagedSequence& sequence, Index position) const;
  /// element() of many positions, without their divisions.
  void elements(const PagedSequence& sequence, Range positions, std::vector<Index>& out) const;
  /// The sinks of a query head in an array of the form of `sinks`.
  template <class T>
  std::span<const T> sinks_of(const T* array, Index q_head) const {
    if (!sinks) return {};
    Dims dims;
    dims.q_heads = q_heads, dims.kv_heads = cache.heads;
    return {array + first_sink(*sinks, dims, q_head), as_size(sink_count(sinks))};
  }
};

}  // namespace maskctl::attention
