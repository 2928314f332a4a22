// Cumulative lengths and start-end pairs nearest to a mask: each document extends from the first to
// the last open cell.
#include <algorithm>
#include <limits>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/document_ranges.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"

namespace maskctl {
namespace {

using Document = DocumentRange;

/// The smallest rectangle around all open cells; empty ranges if there are none.
Document rectangle_of(const Plane& plane) {
  Document out;
  each_open_row(plane, [&](Range equal, Range keys) {
    out = {hull(out.q, equal), hull(out.k, keys)};
  });
  return out;
}

Document around(const Document& a, const Document& b) { return {hull(a.q, b.q), hull(a.k, b.k)}; }

Tensor list(const std::vector<Index>& values) {
  Tensor out(DType::kInt32, {std::ssize(values)});
  std::ranges::transform(values, out.as<std::int32_t>().begin(),
                         [](Index value) { return static_cast<std::int32_t>(value); });
  return out;
}

/// The ends of documents along both axes. Queries (or keys) between documents become documents
/// without keys (or queries).
struct Ends {
  std::vector<Index> q{0}, k{0};

  void add(Index q_end, Index k_end) {
    q.push_back(q_end);
    k.push_back(k_end);
  }
  void add(const Document& document) {
    if (q.back() < document.q.begin && k.back() < document.k.begin) {
      add(document.q.begin, k.back());
    }
    if (q.back() < document.q.begin || k.back() < document.k.begin) {
      add(document.q.begin, document.k.begin);
    }
    add(document.q.end, document.k.end);
  }
};

/// The union of the planes of all batches and heads.
PlanePtr any_plane(const Mask& mask) {
  if (mask.distinct().empty()) return empty_plane(mask.queries(), mask.keys());
  PlanePtr out = mask.distinct().front();
  for (const PlanePtr& plane : mask.distinct().subspan(1)) out = combine(Op::kOr, out, plane);
  return out;
}

}  // namespace

std::vector<DocumentRange> document_ranges(const Plane& plane) {
  std::vector<DocumentRange> documents;
  each_open_row(plane, [&](Range equal, Range keys) {
    DocumentRange now{equal, keys};
    while (!documents.empty() && now.k.begin < documents.back().k.end) {
      const DocumentRange& last = documents.back();
      now.q.begin = last.q.begin;
      now.k = hull(now.k, last.k);
      documents.pop_back();
    }
    documents.push_back(now);
  });
  return documents;
}

Nearest nearest_cu_seqlens(const Mask& mask) {
  Ends ends;
  for (const Document& document : document_ranges(*any_plane(mask))) ends.add(document);
  Nearest out;
  out.q = list(ends.q);
  out.kv = list(ends.k);
  out.mask = mask_from_cu_seqlens(out.q, out.kv, mask.queries(), mask.keys());
  out.changed = out.mask.count() * mask.batch() * mask.heads() - mask.count();
  return out;
}

Nearest nearest_pairs(const Mask& mask) {
  std::vector<Document> of_plane;
  for (const PlanePtr& plane : mask.distinct()) of_plane.push_back(rectangle_of(*plane));
  std::vector<Index> q, k;
  for (Index b = 0; b < mask.batch(); ++b) {
    Document all;
    for (Index h = 0; h < mask.heads(); ++h) all = around(all, of_plane[mask.index_of(b, h)]);
    q.insert(q.end(), {all.q.begin, all.q.end});
    k.insert(k.end(), {all.k.begin, all.k.end});
  }
  Nearest out;
  out.q = list(q);
  out.kv = list(k);
  out.mask = mask_from_pairs(out.q, out.kv, mask.queries(), mask.keys());
  out.changed = out.mask.count() * mask.heads() - mask.count();
  return out;
}

}  // namespace maskctl
