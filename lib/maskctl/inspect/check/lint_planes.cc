// Finds batch entries and heads that do not fit the others.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/exceptions.h"
#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/future.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/inspect/count/equal_planes.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/residue.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kPlaneFull>) {
  return {.id = "plane-full",
          .severity = Severity::kWarning,
          .summary = "a batch entry or head is wholly open while the others are causal",
          .claim = "in that many planes every cell is open",
          .why =
              "all its queries see the future; a mask that is missing, or that was made for "
              "another entry, is often filled up with ones",
          .fix = "make it by the same steps as the others",
          .example = "maskctl check gen:causal:n=16,b=4 -t 'batch:2{open:q=0-15}'",
          .beside = {LintRule::Beside::kSaysPattern},
          .fixed = like_equal_planes,
          .unfixed = "the others differ, and which steps it should have is not known"};
}

LintRule lint_row(RuleKey<FindingId::kPlaneFuture>) {
  return {.id = "plane-future",
          .severity = Severity::kWarning,
          .summary = "a batch entry or head sees the future while the others are causal",
          .claim =
              "in that many planes queries see later keys, and in no other plane that is not "
              "wholly open",
          .why = "the loss of that entry is too low, and the mean over the batch hides it",
          .fix = "apply the step causal to all batch entries and heads",
          .example = "maskctl check gen:full:n=16,b=4 -t 'doc:lens=6+10 | batch:0-2{causal}'",
          .beside = {LintRule::Beside::kSaysPattern},
          .fixed = make_causal};
}

LintRule lint_row(RuleKey<FindingId::kPlaneDiffers>) {
  return {
      .id = "plane-differs",
      .severity = Severity::kWarning,
      .summary = "one batch entry or head differs from all others, which are equal",
      .claim =
          "the batch entry or head differs from all others in that many cells, and those are equal",
      .why =
          "padding, documents and images differ between entries, other rules do not: a window that "
          "is off by one, a cell written by hand, an index that meets one entry only",
      .fix = "compare with diff, or make the mask from steps without batch and heads",
      .example = "maskctl check gen:window:keys=8,n=32,h=4 -t 'heads:1{window:keys=7}'",
      .beside = {LintRule::Beside::kSaysPattern},
      .fixed = like_the_others};
}

LintRule lint_row(RuleKey<FindingId::kHeadDiffers>) {
  return {.id = "head-differs",
          .severity = Severity::kNote,
          .summary = "one head differs much from all others, which are equal",
          .claim = "the head differs from all others in that many cells, and those are equal",
          .why =
              "meant for heads of another kind, such as global ones among local ones; not meant "
              "where a step missed a head",
          .fix = "nothing, if the head is of another kind",
          .example = "maskctl check gen:causal:n=16,h=4 -t 'heads:0+2+3{window:keys=3}'"};
}

LintRule lint_row(RuleKey<FindingId::kPlaneEmpty>) {
  return {.id = "plane-empty",
          .severity = Severity::kWarning,
          .summary = "a batch entry or head sees nothing while others do",
          .claim = "in that many planes no cell is open",
          .why =
              "all its rows are NaN, 0 or the mean of V; key_padding_mask of torch marks what is "
              "closed, so that read the other way its longest sequence is closed wholly",
          .fix = "leave the entry out",
          .example = "maskctl check gen:causal:n=6,b=2 -t 'batch:1{close:q=0-5}'",
          .remedy = {Remedy::kReadZeroAsOpen},
          .unfixed = "what it should see is not known"};
}

namespace {

/// Two planes are alike if they differ in at most one of kLikeness cells, or in at most
/// kLikeDiagonals neighbouring diagonals.
constexpr Index kLikeness = 64, kLikeDiagonals = 2;
/// Heads have the same documents and padding, so a difference of at most this many cells is an
/// exception.
constexpr Index kStray = 2;

/// Finds batch entries or heads that see nothing while others do.
void lint_empty_planes(const LintedMask& linted, Findings& out) {
  report_planes(
      FindingId::kPlaneEmpty, linted,
      [&](std::size_t plane) { return linted.mask.distinct()[plane]->count() == 0; },
      [](const std::string& where) { return "no cell is open " + where; }, out);
}

/// Finds planes that see the future, all of it or in nearly every row, while all other planes are
/// causal. A single group in a plane may be a prefix or an image, unless there are several other
/// planes and none of them has a group.
void lint_causal_planes(const LintedMask& whole, const LintedMask& linted, Findings& out) {
  const std::span<const PlanePtr> planes = linted.mask.distinct();
  Index causal = 0, strictly = 0, all = 0, seen = 0;
  std::set<std::size_t> full, open;
  bool others_see = false;  // whether a plane that is in neither list sees later keys
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const Index times = linted.uses[i].times;
    if (times == 0 || planes[i]->count() == 0) continue;
    const Future future = future_of(planes[i]);
    const auto note_others = [&] { others_see = others_see || future.later > 0; };
    if (future.selves < 2) {  // at most one token sees itself: the others are padding
      note_others();
      continue;
    }
    const bool is_full = planes[i]->count() == planes[i]->queries() * planes[i]->keys();
    if (!is_full && rows_alike(*planes[i])) return;  // padding alone has no direction
    const bool is_seen = is_full || (future.is_seen() && !future.is_causal());
    all += times;
    seen += is_seen * times;
    causal += (!is_seen && future.causal > 0 && future.causal >= future.in_groups) * times;
    strictly += future.is_causal() * times;
    if (is_seen) {
      (is_full ? full : open).insert(i);
    } else {
      note_others();
    }
  }
  const auto report = [&](FindingId id, const char* what, const std::set<std::size_t>& which) {
    if (which.empty()) return;
    const auto is_one = [&which](std::size_t plane) { return which.contains(plane); };
    Index later = 0;
    for (std::size_t i = 0; i < planes.size(); ++i) {
      if (!is_one(i)) later += later_cells(whole.mask.distinct()[i]) * linted.uses[i].times;
    }
    const std::string but =
        later > 0 ? fmt::format(" but for {} of the future", counted(later, "cell")) : "";
    report_planes(
        id, linted, is_one,
        [&](const std::string& where) {
          return what + where + ", and the others are causal" + but;
        },
        out);
  };
  if (causal < seen || causal + seen < all) return;
  report(FindingId::kPlaneFull, "every cell is open ", full);
  if (strictly > seen && strictly + seen == all && !others_see)
    report(FindingId::kPlaneFuture, "queries see later keys ", open);
}

/// Numbers the planes of a mask so that planes with the same cells have the same number.
class PlaneTable {
 public:
  explicit PlaneTable(const Mask& mask) : mask_(mask), number_(first_equal_planes(mask)) {}

  /// The numbers of all planes of one batch entry, or of one head.
  std::vector<std::size_t> line(bool of_batch, Index at) const {
    std::vector<std::size_t> out;
    const Index length = of_batch ? mask_.heads() : mask_.batch();
    for (Index i = 0; i < length; ++i) {
      out.push_back(number_[of_batch ? mask_.index_of(at, i) : mask_.index_of(i, at)]);
    }
    return out;
  }

 private:
  const Mask& mask_;
  std::vector<std::size_t> number_;
};

/// The only batch entry (or head) that differs from all others, and one of the others. odd_one()
/// returns nothing if the others are not all equal.
struct OddOne {
  Index at = 0, other = 0;
};
std::optional<OddOne> odd_one(const PlaneTable& table, bool of_batch, Index count) {
  if (count < 3) return std::nullopt;
  const auto line = [&](Index at) { return table.line(of_batch, at); };
  const Index common = line(0) == line(1) || line(0) == line(2) ? 0 : 1;
  const std::vector<std::size_t> usual = line(common);
  std::optional<OddOne> out;
  for (Index i = 0; i < count; ++i) {
    if (line(i) == usual) continue;
    if (out) return std::nullopt;
    out = OddOne{i, common};
  }
  return out;
}

/// Returns cells in which two planes differ: those in `first`, and both ends of each run of
/// differing cells in a sample of rows.
std::vector<Cell> sample(const PlanePtr& differ, std::vector<Cell> first) {
  constexpr Index kRows = 128;
  const Index step = std::max<Index>(1, differ->queries() / kRows);
  for (Index q = 0; q < differ->queries(); q += step) {
    recognition::each_run(*differ, {q, q + 1}, [&](Range, const Band& run) {
      first.push_back({0, 0, q, run.begin});
      first.push_back({0, 0, q, run.end - 1});
    });
  }
  return first;
}

/// Whether the planes differ in a cell that is an exception (is_exception()) in the plane in which
/// it is closed. A cell of the future may also be an exception in the plane in which it is open.
/// Rows that see every key in one of the planes are left out. Since the padding of batch entries
/// differs, rows of tokens that no query of one of them sees are then left out, too.
bool differ_by_exceptions(const PlanePtr& odd, const PlanePtr& other, const Residue& differ,
                          bool of_batch) {
  const Index shift = odd->keys() - odd->queries();
  const std::vector<Cell> cells = sample(combine(Op::kXor, odd, other), differ.first);
  return std::ranges::any_of(cells, [&](const Cell& cell) {
    const Range row{cell.query, cell.query + 1}, all{0, odd->keys()};
    if (odd->classify(row, all) == Fill::kFull || other->classify(row, all) == Fill::kFull) {
      return false;
    }
    const Range own{cell.query, cell.query + 1}, rows{0, odd->queries()};
    if (of_batch && (odd->count(rows, own) == 0 || other->count(rows, own) == 0)) return false;
    const bool future = cell.key > cell.query + shift;
    const bool open = odd->count(row, {cell.key, cell.key + 1}) == 1;
    return is_exception(future == open ? odd : other, cell.query, cell.key);
  });
}

/// Whether each row is empty, or sees exactly those tokens up to its own that at least one query
/// sees.
bool is_whole_past(const PlanePtr& plane) {
  const Index tokens = plane->keys();
  std::vector<Band> seen;
  for (const Range& keys : recognition::ranges_of(recognition::touched(*plane).k)) {
    seen.push_back({keys.begin, keys.end, 0, 0});
  }
  std::vector<Slab> rows{{{0, tokens}, std::move(seen)}};
  for (const Range& empty : empty_rows(*plane)) {
    const Slab last = rows.back();
    rows.back().q.end = empty.begin;
    rows.push_back({{empty.end, last.q.end}, last.bands});
  }
  const PlanePtr past = combine(Op::kAnd, diagonal_band(tokens, tokens, -kUnbounded, 0),
                                bands(tokens, tokens, std::move(rows)));
  return differing_cells(plane, past) == 0;
}

/// Whether each row is empty, or sees the tokens from the first of its document up to its own: each
/// row begins where the row before it does, or with its own token.
bool is_past_of_documents(const PlanePtr& plane) {
  Index start = -1, last = -1;
  bool holds = true;
  recognition::each_run(*plane, {0, plane->queries()}, [&](Range rows, const Band& run) {
    for (Index q = rows.begin; q < rows.end && holds; ++q) {
      holds = q != last && run.end == q + 1 && (run.begin == start || run.begin == q);
      start = run.begin;
      last = q;
    }
  });
  return holds;
}

/// Whether planes differ in few cells, or only in neighbouring diagonals, like windows that are off
/// by one.
bool are_alike(const PlanePtr& a, const PlanePtr& b) {
  const PlanePtr differ = combine(Op::kXor, a, b);
  const auto lines = recognition::diagonals(*differ);
  return !lines || lines->high - lines->low < kLikeDiagonals ||
         differ->count() * kLikeness <= a->queries() * a->keys();
}

/// The planes of two heads, one for each batch entry.
struct TwoHeads {
  std::vector<PlanePtr> a, b;
};

/// Whether the planes `b` are `a` with one window: keys beyond some distance are closed, except
/// perhaps the first keys (sinks).
bool is_window_of(const TwoHeads& heads) {
  constexpr Index kLeast = 3;  // if there are sinks, fewer closed cells do not prove a window
  const Index tokens = heads.a.front()->keys();
  Index far = -tokens, first = tokens, closed = 0;
  std::vector<PlanePtr> hidden;
  for (std::size_t i = 0; i < heads.a.size(); ++i) {
    if (combine(Op::kSub, heads.b[i], heads.a[i])->count() > 0) return false;
    hidden.push_back(combine(Op::kSub, heads.a[i], heads.b[i]));
    const auto lines = recognition::diagonals(*hidden.back());
    if (!lines) continue;
    far = std::max(far, lines->high);
    first = std::min(first, recognition::hull_of(*hidden.back()).k.begin);
    closed += hidden.back()->count();
  }
  Index sinks = 0;
  for (std::size_t i = 0; i < heads.a.size(); ++i) {
    const PlanePtr beyond =
        combine(Op::kAnd, heads.a[i], diagonal_band(tokens, tokens, -kUnbounded, far));
    sinks += beyond->count({0, tokens}, {0, first});
    const PlanePtr all =
        combine(Op::kAnd, beyond, rectangle(tokens, tokens, {0, tokens}, {first, tokens}));
    if (differing_cells(hidden[i], all) > 0) return false;
  }
  return closed > 0 && (sinks == 0 || closed >= kLeast);
}

/// Whether one head sees the whole past, perhaps of documents, and the other only a window of it.
bool are_global_and_local(const TwoHeads& heads) {
  const auto are_past = [](const std::vector<PlanePtr>& planes) {
    return std::ranges::all_of(planes, [](const PlanePtr& plane) {
      return is_whole_past(plane) || is_past_of_documents(plane);
    });
  };
  return (are_past(heads.a) && is_window_of(heads)) ||
         (are_past(heads.b) && is_window_of({heads.b, heads.a}));
}

/// `whole`: the mask as it is, whose cells are counted. `closed`: the same without opened padding,
/// whose rows would link all cells.
void lint_odd(const Mask& whole, const Mask& closed, const PlaneTable& table, bool of_batch,
              Findings& out) {
  const Index count = of_batch ? whole.batch() : whole.heads();
  const auto odd = odd_one(table, of_batch, count);
  if (!odd) return;
  const auto plane = [&](const Mask& mask, Index at, Index i) -> const PlanePtr& {
    return of_batch ? mask.plane(at, i) : mask.plane(i, at);
  };
  Index cells = 0;
  bool exceptions = false, alike = true;
  TwoHeads heads;
  std::optional<Cell> first;
  const Index length = of_batch ? whole.heads() : whole.batch();
  for (Index i = 0; i < length; ++i) {
    const Residue all =
        residue_of(Mask(plane(whole, odd->at, i)), Mask(plane(whole, odd->other, i)));
    heads.a.push_back(plane(closed, odd->at, i));
    heads.b.push_back(plane(closed, odd->other, i));
    if (all.cells == 0) continue;
    cells += all.cells;
    if (!first) {
      first = all.first.front();
      (of_batch ? first->batch : first->head) = odd->at;
      (of_batch ? first->head : first->batch) = i;
    }
    const PlanePtr &its = heads.a.back(), &usual = heads.b.back();
    const Residue differ = residue_of(Mask(its), Mask(usual));
    if (differ.cells == 0) continue;
    exceptions = exceptions || differ_by_exceptions(its, usual, differ, of_batch);
    alike = alike && are_alike(its, usual);
  }
  if (!exceptions && (of_batch || cells > kStray)) return;
  const bool kinds = !of_batch && are_global_and_local(heads);
  out.push_back(
      {&lint_rule(of_batch || (alike && !kinds) ? FindingId::kPlaneDiffers
                                                : FindingId::kHeadDiffers),
       fmt::format("{} {} differs from the other {}, which are equal, in {}",
                   of_batch ? "batch entry" : "head", odd->at, count - 1, counted(cells, "cell")),
       {first->batch, first->head, first->query, first->key, {}, {}},
       cells});
}

}  // namespace

Fixed like_the_others(const Faulty& faulty) {
  const Mask* mask = faulty.cells();
  if (!mask) return std::nullopt;
  const PlaneTable table(*mask);
  for (const bool of_batch : {true, false}) {
    const auto odd = odd_one(table, of_batch, of_batch ? mask->batch() : mask->heads());
    if (!odd) continue;
    Mask out = Mask::make(mask->batch(), mask->heads(), mask->queries(), mask->keys(),
                          [&](Index b, Index h) {
                            Index& at = of_batch ? b : h;
                            if (at == odd->at) at = odd->other;
                            return mask->plane(b, h);
                          });
    if (differing_cells(*mask, out) == faulty.finding.count) return faulty.with(std::move(out));
  }
  return std::nullopt;
}

void lint_planes(const LintedMask& whole, const LintedMask& linted,
                 const std::vector<Turned>& turned, Findings& out) {
  const bool told = !out.empty();  // there are findings about some planes already
  lint_empty_planes(whole, out);
  if (linted.uses.size() < 2 || linted.mask.queries() < 2) return;
  const std::size_t before = out.size();
  const bool any_turned =
      std::ranges::any_of(turned, [](Turned how) { return how != Turned::kNo; });
  if (!any_turned) lint_causal_planes(whole, linted, out);
  if (told || out.size() > before || linted.mask.queries() != linted.mask.keys()) return;
  const PlaneTable table(whole.mask);
  lint_odd(whole.mask, linted.mask, table, true, out);
  if (out.size() == before) lint_odd(whole.mask, linted.mask, table, false, out);
}

}  // namespace maskctl
