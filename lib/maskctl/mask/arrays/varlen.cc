#include "maskctl/mask/arrays/varlen.h"

#include <algorithm>
#include <vector>

#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/document_ranges.h"

namespace maskctl {
namespace {

/// The union of the planes of all heads of one batch.
PlanePtr any_head(const Mask& mask, Index batch) {
  if (mask.heads() == 0) return empty_plane(mask.queries(), mask.keys());
  PlanePtr out = mask.plane(batch, 0);
  for (Index h = 1; h < mask.heads(); ++h) {
    if (mask.index_of(batch, h) != mask.index_of(batch, 0)) {
      out = combine(Op::kOr, out, mask.plane(batch, h));
    }
  }
  return out;
}

/// The queries or the keys of the flattened batch.
class PackedSide {
 public:
  void add(Range tokens, Index row_begin) {
    ends_.push_back(ends_.back() + tokens.size());
    longest_ = std::max(longest_, tokens.size());
    for (Index t = tokens.begin; t < tokens.end; ++t) indices_.push_back(row_begin + t);
  }
  Index longest() const { return longest_; }
  Tensor cumulative() const { return of<std::int32_t>(DType::kInt32, ends_); }
  Tensor indices() const { return of<std::int64_t>(DType::kInt64, indices_); }

 private:
  template <typename T>
  static Tensor of(DType dtype, const std::vector<Index>& values) {
    Tensor out(dtype, {std::ssize(values)});
    std::ranges::transform(values, out.as<T>().begin(),
                           [](Index value) { return static_cast<T>(value); });
    return out;
  }
  std::vector<Index> ends_{0};
  std::vector<Index> indices_;
  Index longest_ = 0;
};

/// Returns the documents of one row of the batch, and the gaps before, between and after them as
/// further documents: these have the queries and keys that are in no document.
std::vector<DocumentRange> with_gaps(const std::vector<DocumentRange>& documents, Index queries,
                                     Index keys) {
  std::vector<DocumentRange> out;
  Index q = 0, k = 0;
  const auto gap = [&](Index q_end, Index k_end) {
    if (q < q_end || k < k_end) out.push_back({{q, q_end}, {k, k_end}});
  };
  for (const DocumentRange& document : documents) {
    gap(document.q.begin, document.k.begin);
    out.push_back(document);
    q = document.q.end;
    k = document.k.end;
  }
  gap(queries, keys);
  return out;
}

PlanePtr plane_of(const std::vector<DocumentRange>& segments, Index queries, Index keys) {
  std::vector<Slab> slabs;
  for (const DocumentRange& segment : segments) {
    if (segment.q.empty() || segment.k.empty()) continue;
    slabs.push_back({segment.q, {Band{segment.k.begin, segment.k.end, 0, 0}}});
  }
  return bands(queries, keys, slabs);
}

}  // namespace

bool is_causal_part(const Mask& mask, const Mask& documents) {
  if (mask.queries() != mask.keys()) return false;
  const Mask causal(diagonal_band(mask.queries(), mask.keys(), -kUnbounded, 0));
  return differing_cells(mask, zip(Op::kAnd, documents, causal)) == 0;
}

Varlen varlen_batch(const Mask& mask, PaddingTokens padding) {
  const Index queries = mask.queries();
  const Index keys = mask.keys();
  Varlen out;
  PackedSide q_side, kv_side;
  std::vector<PlanePtr> documents_only, segments_too;
  for (Index b = 0; b < mask.batch(); ++b) {
    const auto documents = document_ranges(*any_head(mask, b));
    const auto all = with_gaps(documents, queries, keys);
    const auto& kept = padding == PaddingTokens::kDrop ? documents : all;
    for (const DocumentRange& segment : kept) {
      q_side.add(segment.q, b * queries);
      kv_side.add(segment.k, b * keys);
    }
    out.documents += std::ssize(documents);
    out.padding += queries;
    for (const DocumentRange& document : documents) out.padding -= document.q.size();
    documents_only.push_back(plane_of(documents, queries, keys));
    segments_too.push_back(plane_of(kept, queries, keys));
  }
  const auto batch_of = [&](const std::vector<PlanePtr>& planes) {
    return Mask::make(mask.batch(), 1, queries, keys,
                      [&](Index b, Index) { return planes[as_size(b)]; });
  };
  out.cu_q = q_side.cumulative();
  out.cu_kv = kv_side.cumulative();
  out.max_q = q_side.longest();
  out.max_kv = kv_side.longest();
  if (padding == PaddingTokens::kDrop) {
    out.q_indices = q_side.indices();
    out.kv_indices = kv_side.indices();
  }
  out.mask = batch_of(segments_too);
  out.changed = differing_cells(mask, out.mask);
  const Mask documents = batch_of(documents_only);
  out.lost = differing_cells(mask, documents);
  out.needs_causal = out.lost > 0 && is_causal_part(mask, documents);
  if (out.needs_causal) out.lost = 0;
  return out;
}

}  // namespace maskctl
