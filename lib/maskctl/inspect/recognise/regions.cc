#include "maskctl/inspect/recognise/regions.h"

#include <algorithm>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

using recognition::Description;
using recognition::Extent;

/// A rectangle around cells that differ.
struct Piece {
  Range q, k;
};

/// True if the ranges overlap or are adjacent.
bool touch(const Range& a, const Range& b) { return a.begin <= b.end && b.begin <= a.end; }

/// Rectangles around the cells that differ: runs that touch, even at corners only, are merged.
/// Empty if there are too many.
std::vector<Piece> pieces_of(const Plane& differ) {
  constexpr std::size_t kMostRuns = 1 << 14, kMostPieces = 256;
  std::vector<Piece> out;
  std::size_t runs = 0;
  recognition::each_band(differ, [&](Range rows, const Band& band) {
    if (++runs > kMostRuns || out.size() > kMostPieces) return;
    Piece piece{rows, recognition::keys_of(rows, band)};
    for (std::size_t i = 0; i < out.size();) {
      if (touch(out[i].q, piece.q) && touch(out[i].k, piece.k)) {
        piece = {hull(out[i].q, piece.q), hull(out[i].k, piece.k)};
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
        i = 0;
      } else {
        ++i;
      }
    }
    out.push_back(piece);
  });
  if (runs > kMostRuns || out.size() > kMostPieces) out.clear();
  return out;
}

/// Finds regions to open (or close) that turn one plane into another one.
class Cover {
 public:
  /// The regions will open (or close) the cells of `extra`, which must change, and none of
  /// `against`.
  Cover(bool open, PlanePtr extra, PlanePtr against)
      : open_(open),
        extra_(std::move(extra)),
        against_(std::move(against)),
        extent_{extra_->queries(), extra_->keys()},
        description_(extent_) {}

  /// Covers the cells of `extra`, which must change, by whole rows and columns first (only with
  /// by_lines), then by rectangles.
  void run(bool by_lines, Chain& chain) {
    for (const bool rows : {true, false}) {
      if (by_lines) lines(rows, chain);
    }
    rectangles(chain);
  }

 private:
  Index gain(const Piece& piece) const {
    return (extra_->count(piece.q, piece.k) - against_->count(piece.q, piece.k)) *
           description_.cell();
  }

  /// Adds ranges of whole rows (or columns) that have no cell in `against`, if they cover enough
  /// cells.
  void lines(bool rows, Chain& chain) {
    const auto touched = recognition::touched(*extra_);
    const auto wrong = recognition::touched(*against_);
    std::vector<std::uint8_t> free = rows ? wrong.q : wrong.k;
    for (std::uint8_t& flag : free) flag = flag == 0;
    step::Region rule{open_, {}, {}};
    for (Range range : recognition::ranges_of(free)) {
      if (range.size() == (rows ? extent_.queries : extent_.keys)) continue;
      // Cut off rows (or columns) without a cell to change at both ends of the range.
      const auto& flags = rows ? touched.q : touched.k;
      const auto at = [&](Index i) { return flags[static_cast<std::size_t>(i)] != 0; };
      while (!range.empty() && !at(range.begin)) ++range.begin;
      while (!range.empty() && !at(range.end - 1)) --range.end;
      if (range.empty()) continue;
      const Piece piece =
          rows ? Piece{range, {0, extent_.keys}} : Piece{{0, extent_.queries}, range};
      const Index bits = description_.number() * (range.size() == 1 ? 1 : 2) + 4;
      if (gain(piece) <= bits + description_.number()) continue;
      (rows ? rule.q : rule.k).push_back(range);
    }
    if (!rule.q.empty() || !rule.k.empty()) take(std::move(rule), chain);
  }

  void rectangles(Chain& chain) {
    std::vector<Piece> pieces = pieces_of(*extra_);
    grow(pieces);
    for (const Piece& piece : pieces) {
      const step::Region rule = widest(piece);
      if (gain(piece) > description_.of(Step{rule})) take(rule, chain);
    }
  }

  /// The largest region around the rectangle without a cell in `against`: the whole plane, whole
  /// rows, whole columns, or a square of tokens; else the rectangle itself.
  step::Region widest(const Piece& piece) const {
    const Range all_q{0, extent_.queries}, all_k{0, extent_.keys};
    if (against_->count(all_q, all_k) == 0) return {open_, {all_q}, {}};
    if (against_->count(piece.q, all_k) == 0) return {open_, {piece.q}, {}};
    if (against_->count(all_q, piece.k) == 0) return {open_, {}, {piece.k}};
    const Range tokens = hull(piece.q, piece.k);
    const bool meets = piece.q.begin < piece.k.end && piece.k.begin < piece.q.end;
    if (open_ && meets && tokens.end <= std::min(extent_.queries, extent_.keys) &&
        against_->count(tokens, tokens) == 0) {
      return {open_, {tokens}, {tokens}};
    }
    return {open_, {piece.q}, {piece.k}};
  }

  /// Merges two rectangles if the rectangle around both has no cell in `against`.
  void grow(std::vector<Piece>& pieces) const {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      for (std::size_t j = i + 1; j < pieces.size();) {
        const Piece both{hull(pieces[i].q, pieces[j].q), hull(pieces[i].k, pieces[j].k)};
        if (against_->count(both.q, both.k) == 0) {
          pieces[i] = both;
          pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(j));
          j = i + 1;
        } else {
          ++j;
        }
      }
    }
  }

  void take(step::Region rule, Chain& chain) {
    const Mask changed = maskctl::apply(Mask(extra_), Step{step::Region{false, rule.q, rule.k}});
    const Mask all = maskctl::apply(Mask(empty_plane(extent_.queries, extent_.keys)),
                                    Step{step::Region{true, rule.q, rule.k}});
    // Later regions must not count these cells again; those changed wrongly become residue.
    extra_ = changed.plane(0, 0);
    against_ = combine(Op::kSub, against_, all.plane(0, 0));
    chain.push_back({std::move(rule)});
  }

  bool open_;
  PlanePtr extra_, against_;
  Extent extent_;
  Description description_;
};

}  // namespace

Regions regions_between(const PlanePtr& from, const PlanePtr& to) {
  const Extent extent{from->queries(), from->keys()};
  const Description description(extent);
  const PlanePtr closed = combine(Op::kSub, from, to), opened = combine(Op::kSub, to, from);
  const auto length = [&](const Regions& one) {
    return one.bits + one.residue * description.cell();
  };
  Regions best{{}, 0, closed->count() + opened->count()};
  if (best.residue < 2) return best;
  for (const bool by_lines : {false, true}) {
    Regions next;
    // A region to close may cover all cells that are closed in `to`, a region to open all that are
    // open.
    if (closed->count() > 1) Cover(false, closed, to).run(by_lines, next.chain);
    if (opened->count() > 1) Cover(true, opened, complement(to)).run(by_lines, next.chain);
    next.residue = differing_cells(maskctl::apply(Mask(from), next.chain).plane(0, 0), to);
    next.bits = description.of(next.chain);
    if (length(next) < length(best)) best = std::move(next);
  }
  return best;
}

Chain ranges_of_keys(const Plane& plane, std::size_t most) {
  std::vector<step::Region> open;
  std::vector<Run> scratch;
  const bool few = recognition::each_row_while(
      *plane.transposed(), [&](Range keys, const maskctl::Keys& seen_by) {
        const auto runs = as_runs(seen_by, scratch);
        if (runs.empty()) return true;
        const Range queries{runs.front().begin, runs.front().end};
        const bool follows = !open.empty() && open.back().q.front() == queries &&
                             open.back().k.front().end == keys.begin;
        if (follows) {
          open.back().k.front().end = keys.end;
        } else {
          open.push_back({true, {queries}, {keys}});
        }
        return runs.size() == 1 && open.size() <= most;
      });
  if (!few || open.empty()) return {};
  Chain out{step::Not{}};
  for (step::Region& region : open) out.push_back({std::move(region)});
  return out;
}

}  // namespace maskctl
