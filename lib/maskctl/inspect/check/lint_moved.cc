// Finds queries, or keys, that are rolled: moved by some tokens, the last ones to the front.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/future.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kTokensMoved>) {
  return {
      .id = "tokens-moved",
      .severity = Severity::kWarning,
      .summary = "queries or keys look rolled: the last tokens are at the front",
      .claim =
          "rolled back by the number named, each query of the plane that sees a key sees its own, "
          "and none sees a later key or, where it says so, two tokens see each other or neither; "
          "as it is, that does not hold",
      .why =
          "each query has the row of another token, and those that come round see other documents "
          "and the future",
      .fix = "roll the mask back; look for an index that is off where it, or its ids, are made",
      .example =
          R"(python3 -c 'import numpy as np; np.save("mask.npy", np.roll(np.tri(8, dtype=bool), 1, axis=0))'
maskctl check mask.npy)",
      .beside = {LintRule::Beside::kSaysPattern},
      .fixed = roll_back};
}

namespace {

/// The plane with its queries moved on by `by`, the last ones to the front; fewer than 0: back.
PlanePtr rolled_queries(const PlanePtr& plane, Index by) {
  const Index tokens = plane->queries(), cut = ((tokens - by) % tokens + tokens) % tokens;
  const std::array<Range, 2> rows{Range{cut, tokens}, Range{0, cut}};
  return rows_of(Mask(plane), rows).plane(0, 0);
}
PlanePtr rolled(const PlanePtr& plane, bool keys, Index by) {
  return keys ? rolled_queries(plane->transposed(), by)->transposed() : rolled_queries(plane, by);
}

/// A number of tokens modulo `tokens`, the one nearest to 0.
Index nearest(Index by, Index tokens) {
  const Index up = (by % tokens + tokens) % tokens;
  return 2 * up > tokens ? up - tokens : up;
}

/// How far the queries are moved on, if the last key of each that sees any is that of the query it
/// was, and some of those that came round see keys.
std::optional<Index> causal_queries_moved_by(const Plane& plane) {
  const Index tokens = plane.queries();
  std::optional<Index> by;
  bool came_round = false;
  const bool alike = recognition::each_row_while(plane, [&](Range rows, const Keys& keys) {
    const Range seen = hull_of(keys);
    if (seen.empty()) return true;
    for (Index q = rows.begin; q < rows.end; ++q) {
      const Index its = nearest(q - (seen.end - 1), tokens);
      if (its == 0 || its != by.value_or(its)) return false;
      by = its;
      came_round = came_round || (its > 0 ? q < its : q >= tokens + its);
    }
    return true;
  });
  return alike && came_round ? by : std::nullopt;
}

/// How far the keys may be moved on: the first query that sees any sees one key alone, which would
/// be its own.
std::optional<Index> keys_moved_by(const Plane& plane) {
  const auto first = first_cell(plane);
  if (!first || plane.count({first->query, first->query + 1}, {0, plane.keys()}) != 1) return {};
  return nearest(first->key - first->query, plane.keys());
}

bool all_see_themselves(const PlanePtr& plane) {
  return count_on_diagonals(plane, 0, 0) == plane->queries() - count_empty_rows(*plane);
}
/// How many queries see their own key, and no later one.
Index count_ending_with_own(const Plane& plane) {
  Index out = 0;
  recognition::each_row_while(plane, [&out](Range rows, const Keys& keys) {
    const Index last = hull_of(keys).end - 1;
    out += rows.begin <= last && last < rows.end;
    return true;
  });
  return out;
}
bool is_mutual(const PlanePtr& plane) { return differing_cells(plane, plane->transposed()) == 0; }

}  // namespace

std::optional<MovedTokens> moved_tokens(const PlanePtr& plane) {
  constexpr Index kLeastTokens = 4, kMostShare = 4;
  const Index tokens = plane->keys(), rows = tokens - count_empty_rows(*plane);
  if (plane->queries() != tokens || rows < kLeastTokens || plane->count() <= rows) return {};
  const auto may_be = [&](const std::optional<Index>& by) {
    return by && *by != 0 && kMostShare * std::abs(*by) <= tokens;
  };
  if (const auto by = causal_queries_moved_by(*plane); may_be(by)) {
    return MovedTokens{false, *by, true};
  }
  if (const auto by = keys_moved_by(*plane); may_be(by)) {
    const PlanePtr back = rolled(plane, true, -*by);
    if (later_cells(back) == 0 && all_see_themselves(back)) return MovedTokens{true, *by, true};
  }
  if (all_see_themselves(plane)) return std::nullopt;
  for (const Index by : {1, -1}) {
    const Index before = count_on_diagonals(plane, -by, -by),
                round = count_on_diagonals(plane, by * (tokens - 1), by * (tokens - 1));
    if (before + round != rows || round == 0) continue;
    const PlanePtr back = rolled(plane, false, -by);
    if (is_mutual(back)) return MovedTokens{false, by, false};
  }
  return std::nullopt;
}

void lint_moved(const LintedMask& linted, const std::vector<Turned>& turned, Findings& out) {
  for (const bool causal : {true, false}) {
    std::optional<MovedTokens> first;
    Index rows = 0, right = 0;
    const auto is_one = [&](std::size_t at) {
      if (turned[at] != Turned::kMoved) return false;
      const PlanePtr& plane = linted.mask.distinct()[at];
      const auto moved = moved_tokens(plane);
      if (moved->causal != causal) return false;
      if (!first) {
        first = moved;
        rows = plane->queries() - count_empty_rows(*plane);
        right = causal ? count_ending_with_own(*plane) : count_on_diagonals(plane, 0, 0);
      }
      return true;
    };
    report_planes(
        FindingId::kTokensMoved, linted, is_one,
        [&](const std::string& where) {
          return fmt::format(
              "rolled {} by {}, each query that sees a key sees its own, and {}; as it is, {} of "
              "{} "
              "{}, {}",
              first->by > 0 ? "back" : "on",
              counted(std::abs(first->by), first->keys ? "key" : "query",
                      first->keys ? "keys" : "queries"),
              causal ? "none sees a later one" : "two tokens see each other or neither", right,
              rows, causal ? "see their own as the last" : "see their own", where);
        },
        out);
  }
}

Fixed roll_back(const Faulty& faulty) {
  const Mask* mask = faulty.cells();
  if (!mask) return std::nullopt;
  return faulty.with(mask->map([](const PlanePtr& plane) {
    const auto moved = turned(plane) == Turned::kMoved ? moved_tokens(plane) : std::nullopt;
    return moved ? rolled(plane, moved->keys, -moved->by) : plane;
  }));
}

}  // namespace maskctl
