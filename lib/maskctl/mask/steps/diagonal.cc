// diagonal: keeps single diagonals, and all from one on, as the later steps of EAGLE-3's training
// see their keys.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

/// Keeps cells where q + shift - k is one of `offsets`: query q sees the keys that are that many
/// tokens before its own. Keys `past` and more tokens before it are seen too, unless that is 0.
struct Diagonals {
  std::vector<Index> offsets = {};
  Index past = 0;
  Align align = Align::kUnset;
  friend bool operator==(const Diagonals&, const Diagonals&) = default;
};
const RuleInfo& row(const Diagonals*);

Meets meets(const Diagonals&) { return Meets::kKeeps; }

Mask cells(const Diagonals& rule, const MaskShape& shape) {
  const Index shift = align_shift(shape, rule.align, "diagonal");
  std::vector<Band> lines;
  if (rule.past > 0) lines.push_back({0, shift - rule.past + 1, 0, 1});
  for (const Index offset : rule.offsets) {
    lines.push_back({shift - offset, shift - offset + 1, 1, 1});
  }
  return Mask(bands(shape.queries, shape.keys, {{{0, shape.queries}, lines}}));
}

PairReason reason(const Diagonals& rule, const MaskShape& shape, const Cell& cell) {
  const Index before = cell.query + shift_of(shape, rule.align) - cell.key;
  const bool listed = std::ranges::count(rule.offsets, before) > 0;
  const bool past = !listed && rule.past > 0 && before >= rule.past;
  const std::string which =
      past ? fmt::format("no less than past={}", rule.past)
           : fmt::format(
                 "{} of offsets={}{}", listed ? "one" : "none", list_text(rule.offsets),
                 listed || rule.past == 0 ? "" : fmt::format(", less than past={}", rule.past));
  return {listed || past, fmt::format("key {} is {} {} query {}{}, {}", cell.key, std::abs(before),
                                      before < 0 ? "after" : "before", cell.query,
                                      diagonal_text(cell, shift_of(shape, rule.align), 0), which)};
}

Expr formula(const Diagonals& rule) {
  std::vector<Range> ranges;
  for (const Index offset : rule.offsets) ranges.push_back({offset, offset + 1});
  const Expr before = expr::diagonal(rule.align) - expr::key();
  const Expr listed = expr::is_in(ranges, before);
  return rule.past == 0 ? listed : listed || expr::number(rule.past) <= before;
}

namespace {

constexpr Index kMostDiagonals = 256;
constexpr Index kLongRun = 32;  // a window, whatever else a row has

/// How far before its own the keys end that most rows see from the first key on; 0 if there is no
/// such distance.
Index past_of(const SampledRows& rows, Index shift) {
  Votes votes;
  for (Index i = 0; i < rows.size(); ++i) {
    const auto runs = rows[i].runs;
    if (runs.empty() || runs.front().begin > 0) continue;
    const Index past = rows[i].query + shift - runs.front().end + 1;
    if (past > 0) votes.add(past);
  }
  return votes.majority().value_or(0);
}

/// How many of the rows see the key at each distance less than `past`, or at any if that is 0.
/// Nothing for rows that see many keys next to each other.
std::optional<std::map<Index, Index>> seen_before(const SampledRows& rows, Index shift,
                                                  Index past) {
  std::map<Index, Index> out;
  for (Index i = 0; i < rows.size(); ++i) {
    if (std::ssize(rows[i].runs) > kMostDiagonals) return std::nullopt;
    const Index own = rows[i].query + shift;
    for (const Run& run : rows[i].runs) {
      const Index begin = past == 0 ? run.begin : std::max<Index>(run.begin, own - past + 1);
      if (run.end - begin > kLongRun) return std::nullopt;
      for (Index key = begin; key < run.end; ++key) ++out[own - key];
    }
  }
  return out;
}

/// The distances at which more than half of the rows that reach so far have a key; `past` is the
/// one from which on they see all, or 0. Nothing where another rule says it shorter.
std::optional<Diagonals> diagonals_of(const SampledRows& rows, Index past) {
  const bool square = rows.queries() == rows.keys();
  const Index shift = square ? 0 : rows.keys() - rows.queries();
  const auto seen = seen_before(rows, shift, past);
  if (!seen) return std::nullopt;
  std::vector<Index> queries;
  for (Index i = 0; i < rows.size(); ++i) queries.push_back(rows[i].query);
  std::ranges::sort(queries);
  Diagonals rule{.past = past, .align = square ? Align::kUnset : Align::kBottomRight};
  for (const auto& [offset, count] : *seen) {
    if (offset < 0) continue;
    const auto reach = std::ranges::lower_bound(queries, offset - shift + rows.keys()) -
                       std::ranges::lower_bound(queries, offset - shift);
    if (2 * count > reach) rule.offsets.push_back(offset);
  }
  const Index count = std::ssize(rule.offsets);
  if (count < (past > 0 ? 1 : 2) || count > kMostDiagonals) return std::nullopt;
  const Index across = rule.offsets.back() - rule.offsets.front();
  // Before what all see, neighbouring distances are a part of it.
  if (past > 0) {
    if (across == count - 1 && rule.offsets.back() + 1 == past) return std::nullopt;
    return rule;
  }
  // Neighbouring distances are a window, and many at the same step a dilation.
  const Index step = rule.offsets[1] - rule.offsets[0];
  const bool even = across == (count - 1) * step;
  if (even && (step == 1 || count > 3)) return std::nullopt;
  return rule;
}

}  // namespace

std::vector<Chain> guesses(const Diagonals*, const SampledRows& rows) {
  const Index shift = rows.keys() - rows.queries();
  std::vector<Chain> out;
  for (const Index past : std::set<Index>{0, past_of(rows, shift)}) {
    if (auto rule = diagonals_of(rows, past)) out.push_back({Step(std::move(*rule))});
  }
  return out;
}

namespace {

constexpr std::array kDiagonalFields = {
    fields::of<&Diagonals::offsets>({.name = "offsets",
                                     .type = FieldType::kLengths,
                                     .help = "how many tokens before its own a query sees: 0+2+3",
                                     .required = true}),
    fields::of<&Diagonals::past>(
        {.name = "past",
         .help = "tokens before its own from which on a query sees all; 0: none",
         .fallback = "0",
         .min = 0}),
    fields::align<&Diagonals::align>(
        "where the diagonal lies when Q != K; needed then (shift 0 or K - Q)")};

constexpr std::array kDiagonalNames = {
    StepInfo{.name = "diagonal",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys at some distances before the query",
             .formula = "q + shift - k in offsets, or >= past if that is not 0",
             .example = "diagonal:offsets=0+2",
             .args = kDiagonalFields,
             .noun = "diagonals",
             .synonyms = "diagonals eye identity eagle3",
             .make = blank<Diagonals>}};
constexpr RuleInfo kDiagonalRow =
    describe<Diagonals>(kDiagonalNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Diagonals*) { return kDiagonalRow; }

}  // namespace maskctl::step
