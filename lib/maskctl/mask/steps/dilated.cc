#include "maskctl/mask/steps/dilated.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/leaves.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

std::string words(const Dilated& rule) { return fmt::format("dilated stride {}", rule.stride); }

Meets meets(const Dilated&) { return Meets::kKeeps; }

Mask cells(const Dilated& rule, const MaskShape& shape) {
  if (rule.stride < 1)
    refuse("dilated", fmt::format("stride {}: expected at least 1", rule.stride));
  return Mask(maskctl::dilated(shape.queries, shape.keys, rule.stride, 0));
}

PairReason reason(const Dilated& rule, const MaskShape&, const Cell& cell) {
  const Index distance = cell.key - cell.query;
  const bool yes = distance % rule.stride == 0;
  return {yes, fmt::format("key - query = {}, {} multiple of stride={}", distance,
                           yes ? "a" : "not a", rule.stride)};
}

Expr formula(const Dilated& rule) {
  return expr::modulo(expr::key() - expr::query(), rule.stride) == expr::number(0);
}

namespace {

constexpr std::array kDilatedFields = {fields::of<&Dilated::stride>(
    {.name = "stride", .help = "distance between open keys", .required = true, .min = 1})};

constexpr std::array kDilatedNames = {
    StepInfo{.name = "dilated",
             .kind = StepKind::kAnd,
             .meaning = "keeps every stride-th key, counted from the query's own",
             .formula = "(k - q) mod stride == 0",
             .example = "dilated:stride=4",
             .args = kDilatedFields,
             .synonyms = "strided stride dilation",
             .make = blank<Dilated>}};
constexpr RuleInfo kDilatedRow =
    describe<Dilated>(kDilatedNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Dilated*) { return kDilatedRow; }

}  // namespace maskctl::step
