#include "maskctl/mask/steps/dilated.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/window.h"

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

/// The distance of neighbouring keys, where most keys stand alone at one distance.
std::optional<Index> stride_of(const SampledRows& rows) {
  Votes strides;
  for (Index i = 0; i < rows.size(); ++i) {
    const std::span<const Run> runs = rows[i].runs;
    for (std::size_t j = 0; j + 1 < runs.size(); ++j) {
      strides.add(runs[j].end - runs[j].begin == 1 ? runs[j + 1].begin - runs[j].begin : 0);
    }
  }
  return strides.majority();
}

/// The window whose borders most rows have, where the mask does not end before them.
std::optional<Step> window_of(const SampledRows& rows, Index stride) {
  Votes lows, highs;
  bool low = false, high = false;
  for (Index i = 0; i < rows.size(); ++i) {
    const auto [query, runs] = rows[i];
    if (runs.empty()) continue;
    const Index first = runs.front().begin, last = runs.back().end - 1;
    if (first - stride >= 0) lows.add(first - query), low = true;
    if (last + stride < rows.keys()) highs.add(last - query), high = true;
  }
  const auto left = lows.majority(), right = highs.majority();
  if ((low && !left) || (high && !right) || (!low && !high)) return std::nullopt;
  if (left.value_or(0) > 0 || right.value_or(0) < 0) return std::nullopt;
  const Align align = rows.queries() == rows.keys() ? Align::kUnset : Align::kTopLeft;
  if (!low && right == Index{0}) return Causal{.align = align};
  Window out{.right = right, .align = align};
  if (low) out.left = -*left;
  if (low && right == Index{0}) out.spelling = Window::Spelling::kKeys;
  if (low && right == out.left) out.spelling = Window::Spelling::kBoth;
  return out;
}

}  // namespace

/// A dilation in the window that most rows have.
std::vector<Chain> guesses(const Dilated*, const SampledRows& rows) {
  const auto stride = stride_of(rows);
  if (!stride || *stride < 2) return {};
  auto window = window_of(rows, *stride);
  if (!window) return {};
  return {{Step(Dilated{*stride}), std::move(*window)}};
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
