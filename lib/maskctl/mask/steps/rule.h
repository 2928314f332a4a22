// A row for each rule: what its cells are, why one is open, its formula, and how it is written.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/steps/expr.h"
#include "maskctl/mask/steps/field.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// What all values of a step do: close cells, open cells, or something of their own.
enum class StepKind : std::uint8_t { kAnd, kOr, kOwn };

/// A step as people write it. Rules have one each or several, such as and, or, xor.
struct StepInfo {
  std::string_view name = {};
  StepKind kind = StepKind::kAnd;
  std::string_view meaning = {};  // one line
  std::string_view formula = {};  // the cells it keeps or opens
  std::string_view example = {};  // can be bound as it is, except for files
  std::span<const Field> args = {};
  std::string_view synonyms = {};    // what else people call it, apart by blanks: "sliding swa"
  Step (*make)() = nullptr;          // a step without arguments; null for generators
  Chain* (*chain)(Step&) = nullptr;  // the chain in {...}; null where there is none
};

/// How the cells of a rule meet the mask.
enum class Meets : std::uint8_t {
  kKeeps,     // closes all others
  kOpens,     // opens them
  kCloses,    // closes them
  kFlips,     // opens what is closed and closes what is open
  kReplaces,  // they are the mask
  kOwn,       // by apply()
};

/// What it is when a later step opens cells that this one closed: a matter of order, or a leak into
/// other documents or padding.
enum class Reopening : std::uint8_t { kHarmless, kLeak };

/// Whether a pair is one of the cells of a rule, and why: one line with the numbers that it used.
struct PairReason {
  bool holds = false;
  std::string words;
};

/// What is wrong with arguments that are right one by one.
struct Misfit {
  std::string_view field;
  std::string message;
};
using GivenNames = std::span<const std::string_view>;

/// A rule. A value that a rule cannot have is left null; what is not said for a rule does not
/// compile (describe()).
struct RuleInfo {
  std::span<const StepInfo> names;
  Reopening reopening;
  std::size_t (*name_index)(const Step& step);  // which of the names
  Meets (*meets)(const Step& step);
  /// The cells, with batch and heads that broadcast. Throws Error(kInvalidArgument, kShape).
  Mask (*cells)(const Step& step, const MaskShape& shape);
  /// The pair must lie in the shape, which cells() or apply() checks.
  PairReason (*reason)(const Step& step, const MaskShape& shape, const Cell& cell);
  CellFormula (*formula)(const Step& step);
  /// What a rule does that its cells do not say, or that is faster than they are.
  Mask (*apply)(const Step& step, const Mask& mask);
  /// Where a cell was before the step; null: where it is.
  Cell (*cell_before)(const Step& step, const MaskShape& shape, const Cell& cell);
  std::optional<Misfit> (*misfit)(const Step& step, GivenNames given);
  void (*limit)(Step& step, Index max_bytes);
};

const RuleInfo& rule_of(const Step& step);
const StepInfo& info_of(const Step& step);
/// All steps, grouped by rule.
std::span<const StepInfo> step_infos();
/// nullptr for an unknown name.
const StepInfo* find_step(std::string_view name);
/// True when the step can only close cells.
bool only_closes(const Step& step);

/// What a step does to one pair.
struct Verdict {
  bool after = false;  // whether the pair is open after the step
  std::string reason;
};
/// Applies the step to one pair that is open or closed before it. `cell` is a cell of the mask
/// before the step. The step must fit the shape, which apply() checks. Chains in steps are for
/// why() to follow.
Verdict judge(const Step& step, const MaskShape& shape, const Cell& cell, bool before);
/// The cell that was at `to` before the step; `to` is a cell of the mask after it.
Cell cell_before(const Step& step, const MaskShape& shape, const Cell& to);

template <typename Rule>
const Rule& rule_in(const Step& step) {
  return std::get<Rule>(step.rule);
}
template <typename Rule>
Step blank() {
  return {Rule{}};
}
template <typename Rule>
Chain* chain_in(Step& step) {
  return &std::get<Rule>(step.rule).chain;
}

/// The row of a rule. Its file has meets(), cells() or apply(), reason() and formula(), and where
/// they say anything name_index(), cell_before(), misfit() and limit(), all for this type.
template <typename Rule>
constexpr RuleInfo describe(std::span<const StepInfo> names, Reopening reopening) {
  RuleInfo out{};
  out.names = names;
  out.reopening = reopening;
  out.name_index = [](const Step&) -> std::size_t { return 0; };
  if constexpr (requires(const Rule& r) { name_index(r); }) {
    out.name_index = [](const Step& s) { return name_index(rule_in<Rule>(s)); };
  }
  out.meets = [](const Step& s) { return meets(rule_in<Rule>(s)); };
  out.reason = [](const Step& s, const MaskShape& shape, const Cell& cell) {
    return reason(rule_in<Rule>(s), shape, cell);
  };
  out.formula = [](const Step& s) { return CellFormula(formula(rule_in<Rule>(s))); };
  constexpr bool has_apply = requires(const Rule& r, const Mask& m) { apply_rule(r, m); };
  constexpr bool has_cells = requires(const Rule& r, const MaskShape& s) { cells(r, s); };
  static_assert(has_apply || has_cells,
                "a rule needs cells(rule, shape) or apply_rule(rule, mask)");
  if constexpr (has_apply) {
    out.apply = [](const Step& s, const Mask& mask) { return apply_rule(rule_in<Rule>(s), mask); };
  }
  if constexpr (has_cells) {
    out.cells = [](const Step& s, const MaskShape& shape) {
      return cells(rule_in<Rule>(s), shape);
    };
  }
  if constexpr (requires(const Rule& r, const MaskShape& s, const Cell& c) {
                  cell_before(r, s, c);
                }) {
    out.cell_before = [](const Step& s, const MaskShape& shape, const Cell& cell) {
      return cell_before(rule_in<Rule>(s), shape, cell);
    };
  }
  if constexpr (requires(const Rule& r, GivenNames g) { misfit(r, g); }) {
    out.misfit = [](const Step& s, GivenNames given) { return misfit(rule_in<Rule>(s), given); };
  }
  if constexpr (requires(Rule & r) { limit(r, Index{0}); }) {
    out.limit = [](Step& s, Index bytes) { limit(std::get<Rule>(s.rule), bytes); };
  }
  return out;
}

// What rules are made with.

inline MaskShape shape_of(const Mask& mask) {
  return {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
}
std::string shape_text(const MaskShape& shape);
/// Throws Error(kInvalidArgument) "step NAME: ...".
[[noreturn]] void refuse(std::string_view step, const std::string& why);
/// How far the diagonal is shifted: 0, or K - Q. Refuses an alignment that is needed and unset.
Index align_shift(const MaskShape& shape, Align align, std::string_view step);
/// The same without a check.
constexpr Index shift_of(const MaskShape& shape, Align align) {
  return align == Align::kBottomRight ? shape.keys - shape.queries : 0;
}
/// One value per batch of the mask, from an array of 1 or B values.
std::vector<Index> per_batch(const MaskShape& shape, const NamedArray& array, std::string_view step,
                             const char* what);
/// The same, each within +-2^40.
std::vector<Index> per_batch_offsets(const MaskShape& shape, const NamedArray& array,
                                     std::string_view step, const char* what);
void check_offset(Index offset, std::string_view step);
/// Refuses lengths that are not 0 to `keys`.
void check_lengths(std::span<const Index> lengths, Index keys, std::string_view step);
/// Refuses ids or flags whose last extent is not `length`, or whose batch is neither 1 nor the
/// mask's.
void check_batched(const MaskShape& shape, const Tensor& array, Index length, std::string_view step,
                   const char* side);
/// 1 for the tokens in the ranges, 0 for the others.
std::vector<std::uint8_t> flags_of(std::span<const Range> tokens, Index size);
/// One plane per batch, made once for each distinct value.
Mask per_value(const MaskShape& shape, const std::vector<Index>& values,
               const std::function<PlanePtr(Index value)>& make);

// What reasons read: single elements, however large the array is.

Index element(const Tensor& array, Index i);
bool is_set(const Tensor& array, Index i);  // not 0
/// The value of batch b in an array [1] or [B]; `absent` for an empty array.
Index of_batch(const NamedArray& array, Index b, Index absent = 0);
/// The index of token i of batch b in an array [S], [1,S] or [B,S].
Index token_index(const Tensor& array, Index b, Index i);
/// For example " (query 5 + 4 from K - Q + 2 from offset)", for a diagonal that is shifted.
std::string diagonal_text(const Cell& cell, Index shift, Index offset);
/// True when a range contains i.
bool any_contains(std::span<const Range> ranges, Index i);

}  // namespace maskctl
