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

/// The open cells of a plane by where they lie from the queries' own keys, query q being token q +
/// keys - queries; each number is read once.
struct Sides {
  Index own = 0, later = 0, earlier = 0;
  Index all_later = 0;  // how many later keys there are

  explicit Sides(const PlanePtr& plane) {
    const Index queries = plane->queries(), shift = plane->keys() - queries;
    own = count_on_diagonals(plane, shift, shift);
    later = count_on_diagonals(plane, shift + 1, kUnbounded);
    earlier = plane->count() - own - later;
    all_later = queries * (queries - 1) / 2;
  }
  bool sees_all_later() const { return all_later > 0 && later == all_later; }
};

/// Whether all later keys are open and several queries do not see themselves; or whether half of
/// the later keys are open, and nothing else; or whether most cells are open, of the later keys
/// half as many as of the earlier ones, and most queries do not see themselves. If there are fewer
/// queries than keys, as in the mask of one rank or of draft tokens, only the first case counts,
/// and most queries must not see themselves.
bool is_inverted_by(const Sides& sides, const Plane& plane) {
  const Index queries = plane.queries(), hidden = queries - sides.own;
  if (queries < plane.keys()) return sides.sees_all_later() && 2 * hidden > queries;
  if (sides.sees_all_later()) return hidden > 1;
  if (sides.own + sides.earlier == 0) return sides.later > 0 && 2 * sides.later >= sides.all_later;
  return 2 * sides.later >= sides.earlier && 2 * plane.count() > queries * plane.keys() &&
         2 * hidden > queries;
}

bool holds_all(const PlanePtr& plane, const PlanePtr& region) {
  const bool fits = plane->count() >= region->count();  // counting is cheaper than combining planes
  return fits && combine(Op::kSub, region, plane)->count() == 0;
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
  const auto open_in = [&plane](const PlanePtr& region) {
    return combine(Op::kAnd, plane, region)->count();
  };
  const Index selves = open_in(bands(queries, keys, own));
  return selves < queries && (2 * selves < queries || 2 * open_in(past) < past->count());
}

/// Whether the closed cells form one square from the first token on, like the valid part of a
/// padded sequence.
bool looks_inverted_padding(const PlanePtr& plane) {
  const Index tokens = plane->keys();
  if (plane->queries() != tokens || tokens < 2) return false;
  Index valid = 0;  // number of leading closed keys of query 0
  plane->rows({0, 1}, [&](Range, const Keys& keys) { valid = first_open_key(keys); });
  return valid > 0 && plane->count() == tokens * tokens - valid * valid &&
         plane->count({0, valid}, {0, valid}) == 0;
}

/// Whether queries of a square plane see themselves, all later keys, and some, but less than half,
/// of the earlier ones: a transposed mask that is causal with a prefix.
bool sees_later_mostly(const Sides& sides, Index tokens) {
  return sides.sees_all_later() && sides.own == tokens && sides.earlier > 0 &&
         2 * sides.earlier < tokens * (tokens - 1) / 2;
}

}  // namespace

Turned turned(const PlanePtr& plane) {
  const Index queries = plane->queries(), keys = plane->keys();
  if (queries < 2) return Turned::kNo;
  const auto differ = [&plane] { return !rows_alike(*plane); };
  if (queries > keys) {
    return looks_inverted_blocks(plane) && differ() ? Turned::kInverted : Turned::kNo;
  }
  const Sides sides(plane);
  if (is_inverted_by(sides, *plane) && differ()) return Turned::kInverted;
  if (looks_inverted_padding(plane)) return Turned::kInverted;
  if (queries != keys || sides.later == 0) return Turned::kNo;
  // A transposed causal mask has no earlier key.
  const bool alone = sides.earlier == 0;
  if ((alone || sees_later_mostly(sides, keys)) && differ()) {
    return alone ? Turned::kLaterAlone : Turned::kLaterMostly;
  }
  return moved_tokens(plane) ? Turned::kMoved : Turned::kNo;
}

std::vector<Turned> turned_planes(const Mask& mask) {
  std::vector<Turned> out;
  for (const PlanePtr& plane : mask.distinct()) out.push_back(turned(plane));
  return out;
}

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

void lint_polarity(const LintedMask& linted, const std::vector<Turned>& turned, Findings& out) {
  const auto report = [&](FindingId id, Turned kind, const char* what) {
    report_planes(
        id, linted, [&, kind](std::size_t plane) { return turned[plane] == kind; },
        [what](const std::string& where) { return what + where; }, out);
  };
  report(FindingId::kPolarity, Turned::kInverted,
         "some queries do not see themselves, and the closed cells look like a mask, ");
  report(FindingId::kAntiCausal, Turned::kLaterAlone,
         "queries see later keys and no earlier ones, ");
  report(FindingId::kAntiCausal, Turned::kLaterMostly,
         "queries see themselves, all later keys and less than half of the earlier ones, ");
}

Fixed invert(const Faulty& faulty) {
  const Mask* mask = faulty.cells();
  if (!mask) return std::nullopt;
  // Where few steps say that the mask is inverted, its planes do not, and all of them are.
  const auto is_one = [](const PlanePtr& plane) { return turned(plane) == Turned::kInverted; };
  const bool all = std::ranges::none_of(mask->distinct(), is_one);
  return faulty.with(mask->map(
      [&](const PlanePtr& plane) { return all || is_one(plane) ? complement(plane) : plane; }));
}

Fixed exchange_axes(const Faulty& faulty) {
  const Mask* mask = faulty.cells();
  if (!mask || mask->queries() != mask->keys()) return std::nullopt;
  return faulty.with(mask->map([](const PlanePtr& plane) {
    const Turned how = turned(plane);
    const bool is_one = how == Turned::kLaterAlone || how == Turned::kLaterMostly;
    return is_one ? transposed(Mask(plane)).plane(0, 0) : plane;
  }));
}

}  // namespace maskctl
