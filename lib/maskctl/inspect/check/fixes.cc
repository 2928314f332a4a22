#include "maskctl/inspect/check/fixes.h"

#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/inspect/check/future.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/inspect/check/opened_rows.h"
#include "maskctl/inspect/count/equal_planes.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

PlanePtr after_own_keys(const Plane& plane) {
  const Index queries = plane.queries(), keys = plane.keys();
  return diagonal_band(queries, keys, keys - queries + 1, kUnbounded);
}

/// Whether the tokens among which the cells of the future lie see most of their future: then they
/// are a group with holes, whose other cells are right.
bool is_group_with_holes(const PlanePtr& plane, const Future& future) {
  const Index shift = plane->keys() - plane->queries();
  const Range tokens = intersect(hull({future.q.begin + shift, future.q.end + shift}, future.k),
                                 {shift, plane->keys()});
  const Index pairs = tokens.size() * (tokens.size() - 1) / 2;
  const PlanePtr later = combine(Op::kAnd, plane, after_own_keys(*plane));
  const Range rows{tokens.begin - shift, tokens.end - shift};
  return tokens.size() > 2 && 2 * later->count(rows, tokens) >= pairs;
}

/// Closes the cells that lint_future() counts. Returns nothing if this would also close other
/// future cells, such as those of a group.
Fixed close_future(const Faulty& faulty, bool joined) {
  const Mask* given = faulty.cells();
  if (!given) return std::nullopt;
  const std::optional<Mask> tokens = faulty.tokens();
  const Mask mask =
      without_opened_padding(*given, opened_rows(*given, tokens ? &*tokens : nullptr));
  bool exact = true;
  const Mask closed = mask.map([&](const PlanePtr& plane) {
    if (rows_alike(*plane)) return plane;
    const Future future = future_of(plane);
    if (future.others == 0 || future.joined != joined || !(joined || future.are_exceptions())) {
      return plane;
    }
    if (!joined && is_group_with_holes(plane, future)) {
      exact = false;
      return plane;
    }
    const PlanePtr around = rectangle(plane->queries(), plane->keys(), future.q, future.k);
    const PlanePtr out =
        combine(Op::kSub, plane, combine(Op::kAnd, around, after_own_keys(*plane)));
    exact = exact && plane->count() - out->count() == future.others;
    return out;
  });
  if (!exact) return std::nullopt;
  return faulty.with(zip(Op::kSub, *given, zip(Op::kSub, mask, closed)));
}

}  // namespace

const Mask* Faulty::cells() const {
  return found.mask && !given.own_documents ? &*found.mask : nullptr;
}

std::optional<Mask> Faulty::tokens() const {
  if (!found.mask || !found.documents) return std::nullopt;
  const Index batch = found.documents->q.extent(0);
  if (batch != 1 && batch != found.mask->batch()) return std::nullopt;
  return real_queries(*found.documents, found.mask->keys());
}

CheckedMask Faulty::with(Mask mask) const {
  CheckedMask out = given;
  out.start = std::move(mask);
  out.whole.reset();
  return out;
}

Fixed close_crossing(const Faulty& faulty) {
  const Mask* mask = faulty.cells();
  if (!mask || !faulty.found.documents) return std::nullopt;
  return faulty.with(zip(Op::kSub, *mask, document_cells(*mask, *faulty.found.documents).leaks()));
}

Fixed close_padding_keys(const Faulty& faulty) {
  const Mask* mask = faulty.cells();
  if (!mask || !faulty.found.documents) return std::nullopt;
  return faulty.with(
      zip(Op::kSub, *mask, document_cells(*mask, *faulty.found.documents).padding_keys()));
}

Fixed close_future_cells(const Faulty& faulty) { return close_future(faulty, false); }

Fixed close_later_groups(const Faulty& faulty) { return close_future(faulty, true); }

Fixed close_opened_rows(const Faulty& faulty) {
  const Mask* mask = faulty.cells();
  if (!mask) return std::nullopt;
  return faulty.with(mask->map([](const PlanePtr& plane) {
    std::vector<Slab> later;
    for (const Range& rows : opened_rows(plane).others) {
      later.push_back({rows, {{1, plane->keys(), 1, 0}}});
    }
    if (later.empty()) return plane;
    return combine(Op::kSub, plane, bands(plane->queries(), plane->keys(), later));
  }));
}

Fixed make_causal(const Faulty& faulty) {
  const Mask* mask = faulty.cells();
  if (!mask) return std::nullopt;
  bool sees = true;
  const Mask causal = mask->map([&](const PlanePtr& plane) {
    const PlanePtr out = combine(Op::kSub, plane, after_own_keys(*plane));
    sees = sees && count_empty_rows(*out) == count_empty_rows(*plane);
    return out;
  });
  return sees ? Fixed(faulty.with(causal)) : std::nullopt;
}

Fixed heads_to_queries(const Faulty& faulty) {
  constexpr Index kMostBytes = Index{1} << 32;
  const Mask* mask = faulty.cells();
  if (!mask || mask->queries() != 1) return std::nullopt;
  const Tensor rows = dense_from_mask(*mask, kMostBytes);
  Tensor out(rows.dtype(), {mask->batch(), 1, mask->heads(), mask->keys()});
  std::ranges::copy(rows.bytes(), out.bytes().begin());
  return faulty.with(mask_from_dense(out));
}

Fixed follow_steps(const Faulty& faulty) {
  const Mask* mask = faulty.cells();
  if (!mask) return std::nullopt;
  const std::optional<Mask> tokens = faulty.tokens();
  recognition::KnownPlanes known;
  const Pattern pattern = pattern_of(*mask, tokens ? &*tokens : nullptr, known);
  for (const auto& steps : {std::optional(pattern), with_border(pattern)}) {
    if (!steps) continue;
    Mask made = made_by(steps->found.chain, *steps);
    if (pattern.opened) made = zip(Op::kOr, made, *pattern.opened);
    // Only these steps leave the cells that the finding counts.
    if (differing_cells(*mask, made) == faulty.finding.count) return faulty.with(std::move(made));
  }
  return std::nullopt;
}

Fixed like_equal_planes(const Faulty& faulty) {
  const Mask* mask = faulty.cells();
  if (!mask) return std::nullopt;
  const std::vector<std::size_t> number = first_equal_planes(*mask);
  const Index cells = mask->queries() * mask->keys();
  std::optional<std::size_t> usual;
  for (Index b = 0; b < mask->batch(); ++b) {
    for (Index h = 0; h < mask->heads(); ++h) {
      if (mask->plane(b, h)->count() == cells) continue;
      const std::size_t at = number[mask->index_of(b, h)];
      if (usual && *usual != at) return std::nullopt;
      usual = at;
    }
  }
  if (!usual) return std::nullopt;
  const PlanePtr& plane = mask->distinct()[*usual];
  return faulty.with(mask->map([&plane](const PlanePtr&) { return plane; }));
}

Fixed write_canonical(const Faulty& faulty) {
  if (!faulty.cells()) return std::nullopt;
  CheckedMask out = faulty.given;
  out.reading.odd_bools = 0;
  if (out.reading.min_closed) out.reading.inf_closed = false;
  return out;
}

Fixed lengths_as_int32(const Faulty& faulty) {
  if (!faulty.given.own_documents) return std::nullopt;
  CheckedMask out = faulty.given;
  DocumentSource& own = *out.own_documents;
  own.q = astype(own.q, DType::kInt32);
  if (own.kv) own.kv = astype(*own.kv, DType::kInt32);
  return out;
}

}  // namespace maskctl
