#include "maskctl/inspect/diff/regions.h"

#include <algorithm>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {
namespace {

using recognition::Description;
using recognition::Extent;

/// A rectangle around cells that differ, and how many of its cells do.
struct Piece {
  Range q, k;
};

/// True when they overlap or are neighbours, including corners.
bool touch(const Range& a, const Range& b) { return a.begin <= b.end && b.begin <= a.end; }

/// Runs of differing cells, with touching ones merged into rectangles; empty when there are too
/// many.
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

/// Describes cells that are open in `one` and closed in `other` as regions of `other`'s state.
class Cover {
 public:
  /// `extra` must become open (or closed); cells in `against` must not.
  Cover(bool open, PlanePtr extra, PlanePtr against)
      : open_(open),
        extra_(std::move(extra)),
        against_(std::move(against)),
        extent_{extra_->queries(), extra_->keys()},
        description_(extent_) {}

  void run(Chain& chain) {
    for (const bool rows : {true, false}) lines(rows, chain);
    rectangles(chain);
  }

 private:
  Index gain(const Piece& piece) const {
    return (extra_->count(piece.q, piece.k) - against_->count(piece.q, piece.k)) *
           description_.cell();
  }

  /// Changes ranges of whole lines that may be changed, if that explains enough cells.
  void lines(bool rows, Chain& chain) {
    const auto touched = recognition::touched(*extra_);
    const auto wrong = recognition::touched(*against_);
    std::vector<std::uint8_t> free = rows ? wrong.q : wrong.k;
    for (std::uint8_t& flag : free) flag = flag == 0;
    step::Region rule{open_, {}, {}};
    for (Range range : recognition::ranges_of(free)) {
      if (range.size() == (rows ? extent_.queries : extent_.keys)) continue;
      // Cut the range to lines that have something to change.
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
      const Index bits = 4 * description_.number() + description_.step();
      if (gain(piece) <= bits) continue;
      take({open_, {piece.q}, {piece.k}}, chain);
    }
  }

  /// Merges rectangles as long as the rectangle around both may be changed too.
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
    // Cells changed wrongly go into the residue, so no second region may count on them.
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
  Regions out;
  const PlanePtr closed = combine(Op::kSub, from, to), opened = combine(Op::kSub, to, from);
  // A region to close may cover cells that are closed already, and likewise for opening.
  if (closed->count() > 1) Cover(false, closed, to).run(out.chain);
  if (opened->count() > 1) Cover(true, opened, complement(to)).run(out.chain);
  const Mask made = maskctl::apply(Mask(from), out.chain);
  out.residue = differing_cells(made.plane(0, 0), to);
  out.bits = Description(extent).of(out.chain);
  return out;
}

}  // namespace maskctl
