#include "maskctl/mask/steps/combine.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

bool operator==(const Combine& a, const Combine& b) {
  return a.op == b.op && a.text == b.text && same_shape(a.mask, b.mask) &&
         differing_cells(a.mask, b.mask) == 0;
}

std::size_t name_index(const Combine& rule) {
  switch (rule.op) {
    case Op::kAnd:
      return 0;
    case Op::kOr:
      return 1;
    case Op::kXor:
      return 2;
    case Op::kSub:
      break;
  }
  return 3;
}

std::string words(const Combine&) { return "another mask"; }

Meets meets(const Combine& rule) {
  constexpr Meets kAll[] = {Meets::kKeeps, Meets::kOpens, Meets::kFlips, Meets::kCloses};
  return kAll[name_index(rule)];
}

/// Does not check the shape: apply() reports shapes that do not broadcast.
Mask cells(const Combine& rule, const MaskShape&) { return rule.mask; }

PairReason reason(const Combine& rule, const MaskShape&, const Cell& cell) {
  const bool other = rule.mask.plane(cell.batch, cell.head)
                         ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) > 0;
  return {other, fmt::format("{} is {} there", rule.text.empty() ? "the other mask" : rule.text,
                             other ? "open" : "closed")};
}

Combine hollow(const Combine& rule) {
  return {rule.op, closed_mask(shape_of(rule.mask)), rule.text};
}

Expr formula(const Combine& rule) { return expr::other_mask("other", rule.mask); }

/// Adds no edits (steps that may have been meant instead): another mask has no obvious variation.
void edits(const Combine&, StepEdits&) {}

namespace {

constexpr std::array kCombineFields = {
    Field{.name = "SRC",
          .type = FieldType::kMaskSource,
          .help = "the other mask; its batch and heads broadcast",
          .required = true,
          .positional = true,
          .get = [](const Step& step) -> FieldValue {
            const Combine& rule = step.as<Combine>();
            return NamedMask{rule.mask, rule.text};
          },
          .set =
              [](Step& step, FieldValue value) {
                Combine& rule = step.as<Combine>();
                auto& [mask, text] = std::get<NamedMask>(value);
                rule.mask = std::move(mask);
                rule.text = std::move(text);
              }}};

template <Op op>
Step combining() {
  return {Combine{op}};
}

constexpr std::array kCombineNames = {
    StepInfo{.name = "and",
             .kind = StepKind::kAnd,
             .meaning = "keeps the cells that are open in another mask too",
             .formula = "mask and other",
             .example = "and:other.npy",
             .args = kCombineFields,
             .synonyms = "intersect intersection",
             .make = combining<Op::kAnd>},
    StepInfo{.name = "or",
             .kind = StepKind::kOr,
             .meaning = "opens the cells that are open in another mask",
             .formula = "mask or other",
             .example = "or:other.npy",
             .args = kCombineFields,
             .synonyms = "union",
             .make = combining<Op::kOr>},
    StepInfo{.name = "xor",
             .kind = StepKind::kOwn,
             .meaning = "opens the cells that are open in exactly one of both",
             .formula = "mask != other",
             .example = "xor:other.npy",
             .args = kCombineFields,
             .synonyms = "difference",
             .make = combining<Op::kXor>},
    StepInfo{.name = "sub",
             .kind = StepKind::kOwn,
             .meaning = "closes the cells that are open in another mask",
             .formula = "mask and not other",
             .example = "sub:other.npy",
             .args = kCombineFields,
             .synonyms = "subtract minus",
             .make = combining<Op::kSub>}};
constexpr RuleInfo kCombineRow =
    describe<Combine>(kCombineNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Combine*) { return kCombineRow; }

}  // namespace maskctl::step
