// Finds masks that look inverted or transposed.
#include <bit>
#include <vector>

#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kPolarity>) {
  return {.id = "polarity",
          .severity = Severity::kWarning,
          .summary = "the mask looks inverted",
          .claim =
              "in that many planes queries do not see themselves while later keys, or most keys, "
              "are open; or the closed cells are a square from the first token on; or the mask is "
              "the inverse of the steps named, and most queries do not see themselves",
          .why =
              "torch SDPA and JAX read true as may attend; torch MultiheadAttention and "
              "Transformer Engine read true as closed, so a mask of one shows the other exactly "
              "what it should not see",
          .fix = "invert it with the step not",
          .example = "maskctl check gen:causal:n=16 -t not",
          .remedy = {Remedy::kReadZeroAsOpen},
          .beside = {LintRule::Beside::kSaysPattern},
          .fixed = invert};
}

LintRule lint_row(RuleKey<FindingId::kAntiCausal>) {
  return {
      .id = "anti-causal",
      .severity = Severity::kWarning,
      .summary = "the mask looks transposed: queries see later keys only",
      .claim =
          "in that many planes queries see later keys, and no earlier ones or less than half of "
          "them",
      .why =
          "a causal mask with its axes exchanged; each token is predicted from what follows it, "
          "and the last sees itself alone",
      .fix =
          "exchange queries and keys, or apply the step not where closed and open were exchanged",
      .example = "maskctl check gen:full:n=16 -t window:left=0",
      .beside = {LintRule::Beside::kSaysPattern},
      .fixed = exchange_axes,
      .unfixed = "its queries are not its keys"};
}

namespace {

PlanePtr diagonals(const Plane& plane, Index low, Index high) {
  return diagonal_band(plane.queries(), plane.keys(), low, high);
}
Index open_in(const PlanePtr& plane, const PlanePtr& region) {
  return combine(Op::kAnd, plane, region)->count();
}
bool holds_all(const PlanePtr& plane, const PlanePtr& region) {
  const bool fits = plane->count() >= region->count();  // counting is cheaper than combining planes
  return fits && combine(Op::kSub, region, plane)->count() == 0;
}

/// Whether a query of a square plane sees a key before its own.
bool sees_earlier_key(const Plane& plane) {
  return !recognition::each_row_while(plane, [](Range rows, const Keys& keys) {
    const Index first = first_open_key(keys);
    return first < 0 || first >= rows.end - 1;
  });
}

/// Whether all later keys are open and several queries do not see themselves; or whether half of
/// the later keys are open, and nothing else; or whether most cells are open, of the later keys
/// half as many as of the earlier ones, and most queries do not see themselves. If there are fewer
/// queries than keys, as in the mask of one rank or of draft tokens, only the first case counts,
/// and most queries must not see themselves.
bool looks_inverted_diagonal(const PlanePtr& plane) {
  const Index queries = plane->queries(), shift = plane->keys() - queries;
  if (queries < 2 || shift < 0) return false;
  const PlanePtr future = diagonals(*plane, shift + 1, kUnbounded);
  const auto hidden = [&] { return queries - count_on_diagonals(plane, shift, shift); };
  const bool sees_future = future->count() > 0 && holds_all(plane, future);
  if (shift > 0) return sees_future && 2 * hidden() > queries;
  if (sees_future) return hidden() > 1;
  const Index later = count_on_diagonals(plane, 1, kUnbounded);
  if (later == plane->count()) return later > 0 && 2 * later >= queries * (queries - 1) / 2;
  const bool sees_both = 2 * later >= count_on_diagonals(plane, -kUnbounded, -1);
  return sees_both && 2 * plane->count() > queries * plane->keys() && 2 * hidden() > queries;
}

/// For planes in which each key stands for a block of queries of the same size: whether all blocks
/// after a query's own are open, some query does not see its own block, and most do not, or see
/// less than half of the earlier ones.
bool looks_inverted_blocks(const PlanePtr& plane) {
  const Index queries = plane->queries(), keys = plane->keys();
  if (keys < 2 || queries <= keys || queries % keys != 0) return false;
  const Index block = queries / keys;
  std::vector<Slab> later, own, earlier;
  for (Index k = 0; k < keys; ++k) {
    const Range rows{k * block, (k + 1) * block};
    later.push_back({rows, {{k + 1, keys}}});
    own.push_back({rows, {{k, k + 1}}});
    earlier.push_back({rows, {{0, k}}});
  }
  if (!holds_all(plane, bands(queries, keys, later))) return false;
  const PlanePtr past = bands(queries, keys, earlier);
  const Index selves = open_in(plane, bands(queries, keys, own));
  return selves < queries && (2 * selves < queries || 2 * open_in(plane, past) < past->count());
}

/// Whether queries see later keys and no earlier ones: a transposed causal mask.
bool sees_later_alone(const PlanePtr& plane) {
  return plane->queries() == plane->keys() && !sees_earlier_key(*plane) &&
         open_in(plane, diagonals(*plane, 1, kUnbounded)) > 0;
}
/// Whether queries see themselves, all later keys, and some, but less than half, of the earlier
/// ones: a transposed mask that is causal with a prefix.
bool sees_later_mostly(const PlanePtr& plane) {
  if (plane->queries() != plane->keys() || !sees_earlier_key(*plane)) return false;
  const PlanePtr past = diagonals(*plane, -kUnbounded, -1);
  return holds_all(plane, diagonals(*plane, 0, kUnbounded)) &&
         2 * open_in(plane, past) < past->count();
}

/// Whether the closed cells form one square from the first token on, like the valid part of a
/// padded sequence.
bool looks_inverted_padding(const PlanePtr& plane) {
  const Index tokens = plane->keys();
  if (plane->queries() != tokens || tokens < 2) return false;
  Index valid = 0;  // number of leading closed keys of query 0
  plane->rows({0, 1}, [&](Range, const Keys& keys) { valid = first_open_key(keys); });
  if (valid <= 0) return false;
  const PlanePtr square = rectangle(tokens, tokens, {0, valid}, {0, valid});
  return plane->count() == tokens * tokens - valid * valid &&
         combine(Op::kAnd, plane, square)->count() == 0;
}

bool looks_inverted(const PlanePtr& plane) {
  return ((looks_inverted_diagonal(plane) || looks_inverted_blocks(plane)) &&
          !rows_alike(*plane)) ||
         looks_inverted_padding(plane);
}

}  // namespace

bool rows_alike(const Plane& plane) {
  const auto first = first_cell(plane);
  if (!first) return true;
  const Range row{first->query, first->query + 1};
  const Index open = plane.count(), in_row = plane.count(row, {0, plane.keys()});
  if (open > plane.queries() * in_row || open % in_row != 0) return false;
  const Index rows = plane.queries() - count_empty_rows(plane);
  if (open != rows * in_row) return false;
  std::vector<std::uint64_t> seen(static_cast<std::size_t>(words_for(plane.keys())));
  plane.mark_seen({0, plane.queries()}, seen);
  Index keys = 0;
  for (const std::uint64_t word : seen) keys += std::popcount(word);
  return open == rows * keys;
}

void lint_polarity(const LintedMask& linted, Findings& out) {
  report_planes(
      FindingId::kPolarity, linted, looks_inverted,
      [](const std::string& where) {
        return "some queries do not see themselves, and the closed cells look like a mask, " +
               where;
      },
      out);
  const auto transposed = [&](bool (*looks)(const PlanePtr&), const char* what) {
    report_planes(
        FindingId::kAntiCausal, linted,
        [looks](const PlanePtr& plane) {
          return looks(plane) && !looks_inverted(plane) && !rows_alike(*plane);
        },
        [what](const std::string& where) { return what + where; }, out);
  };
  transposed(sees_later_alone, "queries see later keys and no earlier ones, ");
  transposed(sees_later_mostly,
             "queries see themselves, all later keys and less than half of the earlier ones, ");
}

}  // namespace maskctl
