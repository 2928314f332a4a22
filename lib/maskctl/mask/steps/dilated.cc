#include "maskctl/mask/steps/dilated.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/leaves.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

std::string words(const Dilated& rule) {
  return rule.strides.empty() ? fmt::format("dilated stride {}", rule.stride) : "dilation";
}

Meets meets(const Dilated&) { return Meets::kKeeps; }

Mask cells(const Dilated& rule, const MaskShape& shape) {
  const auto plane = [&](Index stride) {
    if (stride < 1) refuse("dilated", fmt::format("stride {}: expected at least 1", stride));
    return maskctl::dilated(shape.queries, shape.keys, stride, 0);
  };
  if (rule.strides.empty()) return Mask(plane(rule.stride));
  return per_values(shape, plane, per_batch(shape, rule.strides, "dilated", "strides"));
}

PairReason reason(const Dilated& rule, const MaskShape&, const Cell& cell) {
  const Index distance = cell.key - cell.query;
  const Index stride = of_batch(rule.strides, cell.batch, rule.stride);
  const bool yes = distance % stride == 0;
  return {yes, fmt::format("key - query = {}, {} multiple of stride={}", distance,
                           yes ? "a" : "not a", stride)};
}

Dilated idle(const Dilated&, const MaskShape&) { return {1}; }

Expr formula(const Dilated& rule) {
  const Expr stride = expr::of_batch("stride", rule.strides, rule.stride);
  return expr::modulo(expr::key() - expr::query(), stride) == expr::number(0);
}

namespace {

constexpr std::array kDilatedFields = {
    fields::number_or_each<Dilated, &Dilated::stride, &Dilated::strides>(
        {.name = "stride",
         .help = "distance between open keys: a number, or one per batch",
         .required = true,
         .min = 1})};

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
