#include "maskctl/inspect/diff_diagonals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "maskctl/inspect/diff_change.h"
#include "maskctl/inspect/recognise_cells.h"
#include "maskctl/mask/bands.h"

namespace maskctl {
namespace {

using recognising::Diagonals;
using recognising::diagonals;

/// Diagonals of the open cells of A, of B, and of the cells that one of them has alone.
struct Spans {
  Diagonals a, b;
  std::optional<Diagonals> only_a, only_b;
};

std::optional<Spans> spans_of(const PlanePair& pair) {
  const auto a = diagonals(*pair.a), b = diagonals(*pair.b);
  if (!a || !b) return std::nullopt;
  return Spans{*a, *b, diagonals(*pair.only_a), diagonals(*pair.only_b)};
}

/// Told from below: key - query negated, so that the lower side is the upper one.
Spans mirrored(const Spans& spans) {
  const auto turn = [](const Diagonals& span) { return Diagonals{-span.high, -span.low}; };
  const auto turn_if = [&turn](const std::optional<Diagonals>& span) {
    return span ? std::optional(turn(*span)) : std::nullopt;
  };
  return {turn(spans.a), turn(spans.b), turn_if(spans.only_a), turn_if(spans.only_b)};
}

/// Where the upper side can be: not below the cells of its mask, and below those that only the
/// other mask has.
struct Upper {
  Range a, b;  // both ends may be taken
};
std::optional<Upper> upper_of(const Spans& spans) {
  Upper out{{spans.a.high, spans.only_b ? spans.only_b->low - 1 : kUnbounded},
            {spans.b.high, spans.only_a ? spans.only_a->low - 1 : kUnbounded}};
  if (out.a.begin > out.a.end || out.b.begin > out.b.end) return std::nullopt;
  return out;
}

/// A side of A and how far that of B is from it.
struct SideMove {
  Index from = 0, by = 0;
};

/// The cells show how far apart the sides are, exactly where nothing hides them. Where other rules
/// do, a move by K - Q, or by 1, that is nearly what is seen is the likely one.
std::vector<Index> likely_moves(Index seen, Index shift) {
  constexpr Index kHidden = 8;
  std::vector<Index> out;
  if (seen == 1 || seen == -1) out.push_back(seen);
  for (const Index by : {shift, -shift}) {
    if (by != 0 && std::abs(seen - by) * 2 <= std::abs(by)) out.push_back(by);
  }
  for (const Index by : {Index{1}, Index{-1}}) {
    if (std::abs(seen - by) <= kHidden) out.push_back(by);
  }
  out.push_back(seen);
  return out;
}

/// The likeliest move that fits all cells.
SideMove side_move(const Upper& upper, Index shift) {
  const Index seen = upper.b.begin - upper.a.begin;
  const auto fits = [&](Index by) {
    const Index low = std::max(upper.a.begin, upper.b.begin - by);
    const Index high = std::min(upper.a.end, upper.b.end - by);
    return by != 0 && low <= high;
  };
  for (const Index by : likely_moves(seen, shift)) {
    if (fits(by)) return {std::max(upper.a.begin, upper.b.begin - by), by};
  }
  return {upper.a.begin, 0};
}

/// A band whose both sides move by `by`.
bool band_moved(const PlanePair& pair, const Spans& spans, Index by) {
  const Index low = std::min(spans.a.low, spans.b.low - by);
  const Index high = std::max(spans.a.high, spans.b.high - by);
  return kept_by(pair, diagonal_band(pair.queries(), pair.keys(), low, high),
                 diagonal_band(pair.queries(), pair.keys(), low + by, high + by));
}

/// The words of a side at `from` in A and `to` in B.
MaybeReason side_reason(const PlanePair& pair, const Spans& spans, Index from, Index to,
                        bool upper) {
  const bool causal = upper && spans.a.low <= 1 - pair.queries();  // nothing bounds it from below
  const bool bottom = std::abs(from - pair.shift()) < std::abs(from);
  Limits a;
  a.centre = bottom ? pair.shift() : 0;
  a.offset = from - a.centre;
  a.causal = causal;
  // A side that other rules let be seen did not move.
  if (!causal) (upper ? a.low : a.high) = upper ? spans.a.low : spans.a.high;
  Limits b = a;
  (upper ? a.high : a.low) = from;
  (upper ? b.high : b.low) = to;
  return limits_change(a, b, pair.shift());
}

}  // namespace

MaybeReason diagonals_rule(const PlanePair& pair) {
  const auto spans = spans_of(pair);
  if (!spans) return std::nullopt;
  const Spans turned = mirrored(*spans);
  const auto upper = upper_of(*spans), lower = upper_of(turned);
  if (upper) {
    const SideMove move = side_move(*upper, pair.shift());
    if (move.by != 0) return side_reason(pair, *spans, move.from, move.from + move.by, true);
  }
  if (lower) {
    const SideMove move = side_move(*lower, -pair.shift());
    if (move.by != 0) return side_reason(pair, *spans, -move.from, -move.from - move.by, false);
  }
  for (const Index by : likely_moves(spans->b.high - spans->a.high, pair.shift())) {
    if (by == 0 || !band_moved(pair, *spans, by)) continue;
    Limits a{spans->a.low, spans->a.high, 0, 0, false};
    Limits b{*a.low + by, *a.high + by, 0, 0, false};
    return limits_change(a, b, pair.shift());
  }
  return std::nullopt;
}

MaybeReason alignment_reason(const PlanePair& pair) {
  if (pair.square()) return std::nullopt;
  auto found = diagonals_rule(pair);
  return found && found->kind == "alignment" ? found : std::nullopt;
}

}  // namespace maskctl
