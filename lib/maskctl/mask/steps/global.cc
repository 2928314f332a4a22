#include "maskctl/mask/steps/global.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/ranges.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

std::string words(const Global& rule) { return "global tokens " + ranges_text(rule.tokens); }

Meets meets(const Global&) { return Meets::kOpens; }

Mask cells(const Global& rule, const MaskShape& shape) {
  const Index extent = std::max(shape.queries, shape.keys);
  for (const Range& range : rule.tokens) {
    if (range.begin < 0 || range.end > extent || range.empty()) {
      refuse("global", fmt::format("tokens {}-{}: expected tokens from 0 to {}", range.begin,
                                   range.end - 1, extent - 1));
    }
  }
  return Mask(combine(Op::kOr, query_ranges(shape.queries, shape.keys, rule.tokens),
                      key_ranges(shape.queries, shape.keys, rule.tokens)));
}

PairReason reason(const Global& rule, const MaskShape&, const Cell& cell) {
  const bool query = any_contains(rule.tokens, cell.query);
  const bool key = any_contains(rule.tokens, cell.key);
  return {query || key, fmt::format("query {} is {}global, key {} is {}global", cell.query,
                                    query ? "" : "not ", cell.key, key ? "" : "not ")};
}

Expr formula(const Global& rule) {
  return expr::is_in(rule.tokens, expr::query(), "is_global") ||
         expr::is_in(rule.tokens, expr::key(), "is_global");
}

namespace {

constexpr std::array kGlobalFields = {
    fields::of<&Global::tokens>({.name = "tokens",
                                 .type = FieldType::kRanges,
                                 .help = "token numbers and ranges, both ends included",
                                 .required = true})};

constexpr std::array kGlobalNames = {
    StepInfo{.name = "global",
             .kind = StepKind::kOr,
             .meaning = "opens the rows and the columns of some tokens",
             .formula = "q in tokens or k in tokens",
             .example = "global:tokens=0+5-9",
             .args = kGlobalFields,
             .synonyms = "longformer cls",
             .make = blank<Global>}};
constexpr RuleInfo kGlobalRow =
    describe<Global>(kGlobalNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Global*) { return kGlobalRow; }

}  // namespace maskctl::step
