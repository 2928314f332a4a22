// Combines planes in which each row is a list of keys that rows share, clipped to a range.
#include "maskctl/mask/planes/row_lists/combine_lists.h"

#include <algorithm>

#include "maskctl/base/huge_pages.h"
#include "maskctl/mask/planes/bands_plane.h"
#include "maskctl/mask/planes/key_lists.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "maskctl/mask/planes/stored_planes.h"

namespace maskctl {
namespace {

/// Intersects a plane whose rows are clips (ranges) of lists of keys with a plane whose rows have
/// at most one run each: only the clips change. Null for other planes.
PlanePtr clip_lists(const PlanePtr& a, const PlanePtr& b) {
  const auto* limits = as<BandsPlane>(b);
  if (!limits || !limits->single_runs()) return nullptr;
  if (const auto* lists = as<RowLists>(a)) return lists->clipped(*limits);
  const auto* keys = as<KeyLists>(a);
  return keys ? keys->clipped(*limits) : nullptr;
}

bool has_lists(const PlanePtr& plane) { return as<RowLists>(plane) || as<KeyLists>(plane); }

/// a op b of two intervals, if the result is one interval. Nothing otherwise.
std::optional<Run> combine_intervals(Op op, const Run& a, const Run& b) {
  const bool apart = a.end < b.begin || b.end < a.begin;  // neither overlap nor touch
  switch (op) {
    case Op::kAnd:
      return Run{std::max(a.begin, b.begin), std::min(a.end, b.end)};
    case Op::kOr:
      if (apart) return std::nullopt;
      return Run{std::min(a.begin, b.begin), std::max(a.end, b.end)};
    case Op::kXor:
      if (a.end == b.begin || b.end == a.begin) return combine_intervals(Op::kOr, a, b);
      if (a.begin == b.begin) return Run{std::min(a.end, b.end), std::max(a.end, b.end)};
      if (a.end == b.end) return Run{std::min(a.begin, b.begin), std::max(a.begin, b.begin)};
      return std::nullopt;
    default:
      if (b.begin <= a.begin) return Run{std::max(a.begin, std::min(a.end, b.end)), a.end};
      if (b.end >= a.end) return Run{a.begin, std::min(a.end, b.begin)};
      return std::nullopt;
  }
}

/// Returns one row of a op b, if it is one clip (range) of one list of keys. Nothing otherwise.
std::optional<RowRef> combine_rows(Op op, const RowRef& a, const RowRef& b) {
  const bool no_a = a.begin >= a.end, no_b = b.begin >= b.end;
  if (no_a || no_b) {
    if (op == Op::kAnd || (op == Op::kSub && no_a)) return RowRef{a.list, 0, 0};
    return no_b ? a : b;
  }
  if (a.list != b.list) return std::nullopt;
  const auto keys = combine_intervals(op, {a.begin, a.end}, {b.begin, b.end});
  if (!keys) return std::nullopt;
  return keys->begin < keys->end ? RowRef{a.list, keys->begin, keys->end} : RowRef{a.list, 0, 0};
}

/// Combines planes whose rows are clips (ranges) of the same lists of keys. Null for other planes,
/// and when a row of the result would need two clips.
PlanePtr combine_clips(Op op, const PlanePtr& a, const PlanePtr& b) {
  const auto* in_a = as<RowLists>(a);
  const auto* in_b = as<RowLists>(b);
  if (!in_a || !in_b || !in_a->shares_lists(*in_b)) return nullptr;
  std::vector<RowRef> refs;
  reserve_huge(refs, in_a->refs().size());
  for (std::size_t row = 0; row < in_a->refs().size(); ++row) {
    const auto ref = combine_rows(op, in_a->refs()[row], in_b->refs()[row]);
    if (!ref) return nullptr;
    refs.push_back(*ref);
  }
  return in_a->with_rows(std::move(refs));
}

/// Returns the intersection of two planes, one of which stores lists of keys that rows share, if it
/// has a closed form. Null otherwise.
PlanePtr clipped_both(const PlanePtr& a, const PlanePtr& b) {
  if (PlanePtr plane = clip_lists(a, b)) return plane;
  if (PlanePtr plane = clip_lists(b, a)) return plane;
  return intersect_classes(*a, *b);
}

/// Converts a plane of lists of keys that rows share to bands if there are at least eight times as
/// many rows as bands; otherwise reading row by row is as fast. Null otherwise.
PlanePtr few_bands(const RowLists& plane) {
  constexpr Index kRowsPerBand = 8;
  std::vector<Slab> slabs;
  Index left = std::min(kBandBudget / 2, plane.queries() / kRowsPerBand);
  const auto refs = plane.refs();
  for (std::size_t row = 0; row < refs.size() && left >= 0;) {
    std::size_t end = row + 1;
    while (end < refs.size() && refs[end] == refs[row]) ++end;
    Slab slab{{static_cast<Index>(row), static_cast<Index>(end)}, {}};
    plane.rows({slab.q.begin, slab.q.begin + 1}, [&](Range, const Keys& keys) {
      for (const Run& run : keys.runs) slab.bands.push_back({run.begin, run.end, 0, 0});
    });
    left -= std::ssize(slab.bands) + 1;
    slabs.push_back(std::move(slab));
    row = end;
  }
  return left < 0 ? nullptr : bands(plane.queries(), plane.keys(), slabs);
}

/// Combines a plane of bands with a plane of lists of keys that can be replaced by few bands. Null
/// for other planes.
PlanePtr combine_few(Op op, const PlanePtr& a, const PlanePtr& b) {
  const auto* lists = as<RowLists>(as<BandsPlane>(a) ? b : a);
  if (!lists || !(as<BandsPlane>(a) || as<BandsPlane>(b))) return nullptr;
  const PlanePtr few = few_bands(*lists);
  if (!few) return nullptr;
  const PlanePtr& in_a = as<BandsPlane>(a) ? a : few;
  const PlanePtr& in_b = as<BandsPlane>(a) ? few : b;
  return combine_bands(op, *as<BandsPlane>(in_a), *as<BandsPlane>(in_b), kBandBudget);
}

}  // namespace

PlanePtr combine_lists(Op op, const PlanePtr& a, const PlanePtr& b) {
  if (!has_lists(a) && !has_lists(b)) return nullptr;
  if (PlanePtr plane = combine_clips(op, a, b)) return plane;
  if (op == Op::kAnd) {
    if (PlanePtr plane = clipped_both(a, b)) return plane;
  }
  // If each row of b leaves one interval open, removing b only changes the ranges to which the
  // lists of a are clipped.
  if (op == Op::kSub && as<BandsPlane>(b)) {
    if (PlanePtr plane = clip_lists(a, complement(b))) return plane;
  }
  return combine_few(op, a, b);
}

}  // namespace maskctl
