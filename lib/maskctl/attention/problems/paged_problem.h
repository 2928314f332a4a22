// Paged attention, the problem that kernels receive: each sequence has consecutive query rows at
// its end, and its keys and values are in slots of pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "maskctl/attention/problems/dims.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// A KV cache in pages. The D elements of key head u in slot s of page p begin at element
/// p * page_stride + s * slot_stride + u * head_stride of `keys`, and equally of `values`.
struct PagedCache {
  DType dtype = DType::kFloat32;
  const std::byte* keys = nullptr;
  const std::byte* values = nullptr;
  Index pages = 0, page_size = 0, heads = 0, dim = 0;
  Index page_stride = 0, slot_stride = 0, head_stride = 0;
  MemoryPlace place = {};  // where both arrays are: host or device

  /// The number of elements from the first of an array to its last, gaps included.
  Index extent() const {
    if (pages * page_size * heads * dim == 0) return 0;
    return (pages - 1) * page_stride + (page_size - 1) * slot_stride + (heads - 1) * head_stride +
           dim;
  }
  bool heads_first() const { return head_stride > slot_stride; }
};

/// The cache of arrays [pages, heads, page_size, D] and [pages, page_size, heads, D], respectively.
PagedCache heads_first_cache(const Tensor& keys, const Tensor& values);
PagedCache tokens_first_cache(const Tensor& keys, const Tensor& values);

/// One sequence of a paged call. Its query rows are consecutive and causal: the last row is at
/// position keys.end - 1. No row sees a key before keys.begin.
struct PagedSequence {
  Range rows;
  Range keys;
  Index table = 0;  // where the page numbers of the sequence begin in tables
};

/// Tile sizes of a call on kCpu; 0: the kernel chooses.
struct PagedTiles {
  Index keys = 0;     // keys that a task reads at a time
  Index splits = 0;   // into how many tasks the keys of a row are split
  Index queries = 0;  // queries of a tile, if sequences are gathered
};

/// Converts a hint that counts pages into a number of keys.
inline Index keys_of_pages(Index pages, const PagedCache& cache) {
  constexpr Index kMost = 1024;
  return std::clamp<Index>(pages, 0, kMost) * cache.page_size;
}

/// One paged call that its operation has checked.
struct PagedProblem {
  TensorView queries;  // [.., Hq, D]: rows of Hq * D elements
  Index q_heads = 0;
  PagedCache cache;
  std::vector<PagedSequence> sequences;
  std::vector<std::int32_t> tables;
  std::optional<Index> left;  // window: a row at position p sees no key before p - left
  double scale = 1, value_scale = 1;
  std::optional<double> soft_cap;
  std::optional<TensorView> sinks;  // [n], [Hkv,n] or [Hq,n]
  PagedTiles tiles;

  Index rows() const { return queries.elements() / std::max<Index>(q_heads * cache.dim, 1); }
  Index group() const { return q_heads / cache.heads; }
  /// The key positions that a query row sees; `row` counts over all sequences.
  Range visible(const PagedSequence& sequence, Index row) const;
  /// The union of visible() over the rows of a sequence: the keys that are read.
  Range read(const PagedSequence& sequence) const;
  /// The offset in the cache of head 0 at a position of the sequence.
  Index element(const PagedSequence& sequence, Index position) const;
  /// element() of consecutive positions, without a division for each.
  void elements(const PagedSequence& sequence, Range positions, std::vector<Index>& out) const;
  /// The sinks of a query head; `array` holds the elements of `sinks`, perhaps in another type.
  template <class T>
  std::span<const T> sinks_of(const T* array, Index q_head) const {
    if (!sinks) return {};
    Dims dims;
    dims.q_heads = q_heads, dims.kv_heads = cache.heads;
    return {array + first_sink(*sinks, dims, q_head), as_size(sink_count(sinks))};
  }
};

}  // namespace maskctl::attention
