#include "maskctl/mask/steps/causal.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

Meets meets(const Causal&) { return Meets::kKeeps; }

std::optional<Diagonal> diagonal(const Causal& rule, const MaskShape& shape) {
  if (rule.offsets.array.elements() > 1) return std::nullopt;
  const Index offset = of_batch(rule.offsets, 0);
  check_offset(offset, "causal");
  const Index last = align_shift(shape, rule.align, "causal") + offset;
  return Diagonal{-kUnbounded, last, last, offset, true};
}

Mask cells(const Causal& rule, const MaskShape& shape) {
  if (const auto one = diagonal(rule, shape)) {
    return Mask(diagonal_band(shape.queries, shape.keys, one->low, one->high));
  }
  const Index shift = align_shift(shape, rule.align, "causal");
  const auto plane = [&](Index offset) {
    return diagonal_band(shape.queries, shape.keys, -kUnbounded, shift + offset);
  };
  return per_values(shape, plane, per_batch_offsets(shape, rule.offsets, "causal", "offsets"));
}

PairReason reason(const Causal& rule, const MaskShape& shape, const Cell& cell) {
  const Index offset = of_batch(rule.offsets, cell.batch);
  const Index shift = shift_of(shape, rule.align);
  const Index last = cell.query + shift + offset;
  const Index past = cell.key - last;
  return {past <= 0, fmt::format("the last key of query {} is {}{}: key {} is {}", cell.query, last,
                                 diagonal_text(cell, shift, offset), cell.key,
                                 past > 0    ? fmt::format("{} past it", past)
                                 : past == 0 ? std::string("the one")
                                             : fmt::format("{} before it", -past))};
}

Expr formula(const Causal& rule) {
  return expr::key() <= expr::diagonal(rule.align) + expr::of_batch("offset", rule.offsets);
}

namespace {

constexpr std::array kCausalFields = {
    fields::align<&Causal::align>(
        "where the diagonal lies when Q != K; needed then (shift 0 or K - Q)"),
    fields::of<&Causal::offsets>(
        {.name = "offset",
         .type = FieldType::kIntegerOrSource,
         .help = "keys past the diagonal: a number, or one per batch (0+3 or a SOURCE)",
         .fallback = "0",
         .min = kAnyNumber})};

constexpr std::array kCausalNames = {
    StepInfo{.name = "causal",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys up to the query's position",
             .formula = "k <= q + shift + offset",
             .example = "causal:align=bottom-right",
             .args = kCausalFields,
             .synonyms = "autoregressive lower-triangular tril triangular decoder",
             .make = blank<Causal>}};
constexpr RuleInfo kCausalRow =
    describe<Causal>(kCausalNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Causal*) { return kCausalRow; }

}  // namespace maskctl::step
