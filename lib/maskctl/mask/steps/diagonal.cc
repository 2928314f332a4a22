// diagonal: keeps single diagonals, as the later steps of EAGLE-3's training see their keys.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

/// Keeps cells where q + shift - k is one of `offsets`: query q sees the keys that are that many
/// tokens before its own.
struct Diagonals {
  std::vector<Index> offsets = {};
  Align align = Align::kUnset;
  friend bool operator==(const Diagonals&, const Diagonals&) = default;
};
const RuleInfo& row(const Diagonals*);

Meets meets(const Diagonals&) { return Meets::kKeeps; }

Mask cells(const Diagonals& rule, const MaskShape& shape) {
  const Index shift = align_shift(shape, rule.align, "diagonal");
  std::vector<Band> lines;
  for (const Index offset : rule.offsets) {
    lines.push_back({shift - offset, shift - offset + 1, 1, 1});
  }
  return Mask(bands(shape.queries, shape.keys, {{{0, shape.queries}, lines}}));
}

PairReason reason(const Diagonals& rule, const MaskShape& shape, const Cell& cell) {
  const Index before = cell.query + shift_of(shape, rule.align) - cell.key;
  const bool listed = std::ranges::count(rule.offsets, before) > 0;
  return {listed, fmt::format("key {} is {} {} query {}{}, {} of offsets={}", cell.key,
                              std::abs(before), before < 0 ? "after" : "before", cell.query,
                              diagonal_text(cell, shift_of(shape, rule.align), 0),
                              listed ? "one" : "none", list_text(rule.offsets))};
}

Expr formula(const Diagonals& rule) {
  std::vector<Range> ranges;
  for (const Index offset : rule.offsets) ranges.push_back({offset, offset + 1});
  return expr::is_in(ranges, expr::diagonal(rule.align) - expr::key());
}

/// The distances at which more than half of the rows that reach so far have a key.
std::vector<Chain> guesses(const Diagonals*, const SampledRows& rows) {
  constexpr std::size_t kMost = 32;
  const bool square = rows.queries() == rows.keys();
  const Index shift = square ? 0 : rows.keys() - rows.queries();
  std::map<Index, Index> seen;
  for (Index i = 0; i < rows.size(); ++i) {
    if (rows[i].runs.size() > kMost) return {};
    for (const Run& run : rows[i].runs) {
      if (run.end - run.begin > static_cast<Index>(kMost)) return {};
      for (Index key = run.begin; key < run.end; ++key) ++seen[rows[i].query + shift - key];
    }
  }
  Diagonals rule{.align = square ? Align::kUnset : Align::kBottomRight};
  for (const auto& [offset, count] : seen) {
    Index reach = 0;
    for (Index i = 0; i < rows.size(); ++i) {
      const Index key = rows[i].query + shift - offset;
      reach += key >= 0 && key < rows.keys();
    }
    if (offset >= 0 && 2 * count > reach) rule.offsets.push_back(offset);
  }
  if (rule.offsets.size() < 2 || rule.offsets.size() > kMost) return {};
  // Neighbouring distances are a window, and many at the same step a dilation.
  const Index step = rule.offsets[1] - rule.offsets[0];
  const Index steps = std::ssize(rule.offsets) - 1;
  const bool even = rule.offsets.back() - rule.offsets.front() == steps * step;
  if (even && (step == 1 || steps > 2)) return {};
  return {{Step(std::move(rule))}};
}

namespace {

constexpr std::array kDiagonalFields = {
    fields::of<&Diagonals::offsets>({.name = "offsets",
                                     .type = FieldType::kLengths,
                                     .help = "how many tokens before its own a query sees: 0+2+3",
                                     .required = true}),
    fields::align<&Diagonals::align>(
        "where the diagonal lies when Q != K; needed then (shift 0 or K - Q)")};

constexpr std::array kDiagonalNames = {
    StepInfo{.name = "diagonal",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys at some distances before the query",
             .formula = "q + shift - k in offsets",
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
