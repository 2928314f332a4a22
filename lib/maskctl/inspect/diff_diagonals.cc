#include "maskctl/inspect/diff_diagonals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "maskctl/inspect/diff_change.h"
#include "maskctl/inspect/recognise_cells.h"
#include "maskctl/mask/bands.h"

namespace maskctl {
namespace {

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

/// The lowest side of A that is `by` below one of B.
std::optional<Index> side_moved(const Upper& upper, Index by) {
  const Index low = std::max(upper.a.begin, upper.b.begin - by);
  const Index high = std::min(upper.a.end, upper.b.end - by);
  return low <= high ? std::optional(low) : std::nullopt;
}

/// A band whose both sides move by `by`.
bool band_moved(const PlanePair& pair, const Spans& spans, Index by) {
  const Index low = std::min(spans.a.low, spans.b.low - by);
  const Index high = std::max(spans.a.high, spans.b.high - by);
  return kept_by(pair, diagonal_band(pair.queries(), pair.keys(), low, high),
                 diagonal_band(pair.queries(), pair.keys(), low + by, high + by));
}

std::vector<Index> likely_moves(const PlanePair& pair, Index seen) {
  std::vector<Index> out;
  if (pair.shift() != 0) out = {pair.shift(), -pair.shift()};
  out.insert(out.end(), {1, -1});
  if (seen != 0) out.push_back(seen);
  return out;
}

/// The words of a side at `from` in A and `to` in B.
MaybeFinding side_finding(const PlanePair& pair, const Spans& spans, Index from, Index to,
                          bool upper) {
  const bool causal = upper && spans.a.low <= 1 - pair.queries();  // nothing bounds it from below
  const bool bottom = std::abs(from - pair.shift()) < std::abs(from);
  Limits a;
  a.centre = bottom ? pair.shift() : 0;
  a.offset = from - a.centre;
  a.causal = causal;
  Limits b = a;
  (upper ? a.high : a.low) = from;
  (upper ? b.high : b.low) = to;
  return limits_change(a, b, pair.shift());
}

}  // namespace

MaybeFinding diagonals_rule(const PlanePair& pair) {
  const auto spans = spans_of(pair);
  if (!spans) return std::nullopt;
  const Spans turned = mirrored(*spans);
  const auto upper = upper_of(*spans), lower = upper_of(turned);
  if (upper) {
    for (const Index by : likely_moves(pair, spans->b.high - spans->a.high)) {
      const auto from = side_moved(*upper, by);
      if (from) return side_finding(pair, *spans, *from, *from + by, true);
    }
  }
  if (lower) {
    for (const Index by : likely_moves(pair, turned.b.high - turned.a.high)) {
      const auto from = side_moved(*lower, by);
      if (from) return side_finding(pair, *spans, -*from, -*from - by, false);
    }
  }
  for (const Index by : likely_moves(pair, spans->b.high - spans->a.high)) {
    if (!band_moved(pair, *spans, by)) continue;
    Limits a{spans->a.low, spans->a.high, 0, 0, false};
    Limits b{*a.low + by, *a.high + by, 0, 0, false};
    return limits_change(a, b, pair.shift());
  }
  return std::nullopt;
}

MaybeFinding alignment_finding(const PlanePair& pair) {
  if (pair.square()) return std::nullopt;
  auto found = diagonals_rule(pair);
  return found && found->kind == "alignment" ? found : std::nullopt;
}

}  // namespace maskctl
