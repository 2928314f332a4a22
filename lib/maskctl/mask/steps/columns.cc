// columns: keeps keys at a regular stride for all queries, the summary columns of fixed sparse
// patterns (sparse transformers, arXiv:1904.10509, section 4.2).
#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>

#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

/// Keeps cells where (k - offset) mod stride < width.
struct Columns {
  Index stride = 0;
  Index offset = 0;
  Index width = 1;
  friend bool operator==(const Columns&, const Columns&) = default;
};
const RuleInfo& row(const Columns*);

std::string words(const Columns& rule) {
  return fmt::format("{} of every {} keys", rule.width, rule.stride);
}

Meets meets(const Columns&) { return Meets::kKeeps; }

Mask cells(const Columns& rule, const MaskShape& shape) {
  if (rule.stride < 1)
    refuse("columns", fmt::format("stride {}: expected at least 1", rule.stride));
  std::vector<Range> open;
  const Index first = rule.offset - ceil_div(rule.offset, rule.stride) * rule.stride;
  if (rule.width >= rule.stride) {
    open.push_back({0, shape.keys});
  } else {
    for (Index begin = first; begin < shape.keys; begin += rule.stride) {
      open.push_back({begin, begin + rule.width});
    }
  }
  return Mask(key_ranges(shape.queries, shape.keys, open));
}

PairReason reason(const Columns& rule, const MaskShape&, const Cell& cell) {
  const Index rest =
      cell.key - rule.offset - floor_div(cell.key - rule.offset, rule.stride) * rule.stride;
  return {rest < rule.width,
          fmt::format("key {} is key {} of {} that repeat, {} the first {}", cell.key, rest,
                      rule.stride, rest < rule.width ? "among" : "not among", rule.width)};
}

Columns idle(const Columns&, const MaskShape&) { return {.stride = 1}; }

Expr formula(const Columns& rule) {
  return expr::modulo(expr::key() + -rule.offset, rule.stride) < expr::number(rule.width);
}

namespace {

/// Columns as a row has them.
std::optional<Columns> columns_in(std::span<const Run> runs) {
  if (runs.size() < 3) return std::nullopt;
  Votes strides, widths, offsets;
  for (std::size_t i = 1; i < runs.size(); ++i) strides.add(runs[i].begin - runs[i - 1].begin);
  for (const Run& run : runs) widths.add(run.end - run.begin);
  const auto stride = strides.majority(), width = widths.majority();
  if (!stride || !width || *width >= *stride) return std::nullopt;
  for (const Run& run : runs) offsets.add(run.begin % *stride);
  const auto offset = offsets.majority();
  if (!offset) return std::nullopt;
  return Columns{.stride = *stride, .offset = *offset, .width = *width};
}

}  // namespace

/// Columns as the rows with the most runs have them, alone and under causal. The first of these may
/// have a run more because of an odd cell.
std::vector<Chain> guesses(const Columns*, const SampledRows& rows) {
  Index fullest = -1, next = -1;
  const auto has_more = [&](Index i, Index than) {
    return than < 0 || rows[i].runs.size() > rows[than].runs.size();
  };
  for (Index i = 0; i < rows.size(); ++i) {
    if (has_more(i, fullest)) {
      next = fullest;
      fullest = i;
    } else if (has_more(i, next)) {
      next = i;
    }
  }
  const Align align = rows.queries() == rows.keys() ? Align::kUnset : Align::kBottomRight;
  std::vector<Chain> out;
  for (const Index row : {fullest, next}) {
    const auto rule = row < 0 ? std::nullopt : columns_in(rows[row].runs);
    if (!rule) continue;
    out.push_back({Step(*rule)});
    out.push_back({Step(*rule), Step(Causal{align, {}})});
  }
  return out;
}

namespace {

constexpr std::array kColumnsFields = {
    fields::of<&Columns::stride>({.name = "stride",
                                  .help = "keys from one open key to the next",
                                  .required = true,
                                  .min = 1}),
    fields::of<&Columns::offset>({.name = "offset",
                                  .help = "an open key; 3 of stride=4 is the last of each four",
                                  .fallback = "0",
                                  .min = kAnyNumber}),
    fields::of<&Columns::width>({.name = "width",
                                 .help = "neighbouring keys that are open, from there on",
                                 .fallback = "1",
                                 .min = 1})};

constexpr std::array kColumnsNames = {
    StepInfo{.name = "columns",
             .kind = StepKind::kAnd,
             .meaning = "keeps every stride-th key, the same ones for all queries",
             .formula = "(k - offset) mod stride < width",
             .example = "columns:stride=4,offset=3",
             .args = kColumnsFields,
             .noun = "columns",
             .synonyms = "column fixed summary",
             .make = blank<Columns>}};
constexpr RuleInfo kColumnsRow =
    describe<Columns>(kColumnsNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Columns*) { return kColumnsRow; }

}  // namespace maskctl::step
