// A row for each rule: what its cells are, why one is open, its formula, and how it is written.
#pragma once

#include <concepts>
#include <map>
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
  bool for_calls = false;            // only for calls of attention: no pipeline names it
};

/// How the cells of a rule meet the mask.
enum class Meets : std::uint8_t {
  kKeeps,     // closes all others
  kOpens,     // opens them
  kCloses,    // closes them
  kFlips,     // opens what is closed and closes what is open
  kReplaces,  // the cells are the mask
  kOwn,       // apply() decides
};

/// What it means when a later step opens cells that this one closed: only a matter of order, or a
/// leak into other documents or padding.
enum class Reopening : std::uint8_t { kHarmless, kLeak };

/// Whether a rule says which queries are padding, so that they see nothing.
enum class Declares : std::uint8_t {
  kNothing,
  kPadding,  // rows that it closes are padding; also rules that move the cells of such steps
  kPart,     // the part of the step that declared() returns says so
};

/// Cells on both sides of a diagonal: keys q + low to q + high. -kUnbounded and kUnbounded
/// (bands.h) are no limit.
struct Diagonal {
  Index low = 0, high = 0;
};

/// Whether a pair is one of the cells of a rule, and why: one line with the numbers that it used.
struct PairReason {
  bool holds = false;
  std::string words;
};

/// Where a step applies the chain that it holds: a part of the mask, and a cell of it.
struct Inside {
  MaskShape shape;
  Cell cell;
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
  Declares declares;
  bool (*equal)(const Step& a, const Step& b);  // both steps are of this rule
  std::size_t (*name_index)(const Step& step);  // index among the names
  Meets (*meets)(const Step& step);
  /// The cells, with batch and heads that broadcast. Throws Error(kInvalidArgument, kShape).
  Mask (*cells)(const Step& step, const MaskShape& shape);
  /// What the step is called in a sentence; null: its name.
  std::string (*words)(const Step& step);
  /// The pair must lie in the shape, which cells() or apply() checks.
  PairReason (*reason)(const Step& step, const MaskShape& shape, const Cell& cell);
  CellFormula (*formula)(const Step& step);
  /// The cells where they are one diagonal in all batches; null for rules that never are.
  std::optional<Diagonal> (*diagonal)(const Step& step, const MaskShape& shape);
  /// Applies a step that does more than its cells say, or does it faster; null for others.
  Mask (*apply)(const Step& step, const Mask& mask);
  /// Where a cell was before the step; null: where it is.
  Cell (*cell_before)(const Step& step, const MaskShape& shape, const Cell& cell);
  /// Where the chain that the step holds is applied to a pair; nothing where it is not, so that the
  /// reason decides. Null for rules that hold none.
  std::optional<Inside> (*inside)(const Step& step, const MaskShape& shape, const Cell& cell);
  /// A step with the same checks and shapes that reads no mask and draws nothing; null: itself.
  Step (*hollow)(const Step& step);
  /// The step with other numbers, so that it changes nothing; nothing, or null, where no numbers do
  /// that.
  std::optional<Step> (*idle)(const Step& step, const MaskShape& shape);
  /// The part that says which queries are padding; null where all or nothing of it does.
  std::optional<Step> (*declared)(const Step& step);
  std::optional<Misfit> (*misfit)(const Step& step, GivenNames given);
  void (*limit)(Step& step, Index max_bytes);
};

/// The index of the step's rule in the list (rules.h).
std::size_t rule_index(const Step& step);
const StepInfo& info_of(const Step& step);
/// All steps that a pipeline can name, grouped by rule.
std::span<const StepInfo> step_infos();
/// The steps that only calls of attention use.
std::span<const StepInfo> call_step_infos();
/// The entry of step_infos() with this name; nullptr if there is none.
const StepInfo* find_step(std::string_view name);
/// What a step is called in a sentence: "chunk size 8", "documents".
std::string words_of(const Step& step);
/// The chain that a step holds; null where it holds none.
const Chain* chain_of(const Step& step);
/// True when the step can only close cells.
bool only_closes(const Step& step);
/// True for steps, such as causal and window, whose cells lie between two diagonals.
bool keeps_diagonals(const Step& step);
/// The argument of this name; nullptr where the step has none.
const Field* find_field(const Step& step, std::string_view name);
/// The steps that say which queries are padding, and those that move cells.
Chain declaring(const Chain& chain);

/// What a step does to one pair.
struct Verdict {
  bool after = false;  // whether the pair is open after the step
  std::string reason;
};
/// Applies the step to one pair that is open or closed before it. `cell` is a cell of the mask
/// before the step. The step must fit the shape, which apply() checks. Chains in steps are for
/// why() to follow.
Verdict verdict_of(const Step& step, const MaskShape& shape, const Cell& cell, bool before);
/// The cell that verdict_of() is asked about for `to`, a cell of the mask after the step. Its batch
/// and head count even where the mask before has only one.
Cell asked_cell(const Step& step, const MaskShape& shape, const Cell& to);
/// The cell that was at `to` before the step; `to` is a cell of the mask after it.
Cell cell_before_step(const Step& step, const MaskShape& shape, const Cell& to);

template <typename Rule>
Step blank() {
  return Rule{};
}
template <typename Rule>
Chain* chain_in(Step& step) {
  return &step.as<Rule>().chain;
}

/// The row of a rule. Its file has meets(), cells() or apply(), reason() and formula(), and where
/// they say anything name_index(), words(), declared(), diagonal(), cell_before(), inside(),
/// hollow(), idle(), misfit() and limit(), all for this type.
template <typename Rule>
constexpr RuleInfo describe(std::span<const StepInfo> names, Reopening reopening,
                            Declares declares) {
  static_assert(step::Rule<Rule>, "a rule has its line in rules.h");
  RuleInfo out{};
  out.names = names;
  out.reopening = reopening;
  out.declares = declares;
  out.equal = [](const Step& a, const Step& b) { return a.as<Rule>() == b.as<Rule>(); };
  out.name_index = [](const Step&) -> std::size_t { return 0; };
  if constexpr (requires(const Rule& r) { name_index(r); }) {
    out.name_index = [](const Step& s) { return name_index(s.as<Rule>()); };
  }
  if constexpr (requires(const Rule& r) { words(r); }) {
    out.words = [](const Step& s) { return words(s.as<Rule>()); };
  }
  constexpr bool has_part = requires(const Rule& r) { declared(r); };
  if constexpr (has_part) {
    out.declared = [](const Step& s) { return declared(s.as<Rule>()); };
  }
  if ((declares == Declares::kPart) != has_part) {
    throw "declared() belongs to a rule that declares kPart";  // does not compile
  }
  out.meets = [](const Step& s) { return meets(s.as<Rule>()); };
  out.reason = [](const Step& s, const MaskShape& shape, const Cell& cell) {
    return reason(s.as<Rule>(), shape, cell);
  };
  out.formula = [](const Step& s) { return CellFormula(formula(s.as<Rule>())); };
  constexpr bool has_apply = requires(const Rule& r, const Mask& m) { apply_rule(r, m); };
  constexpr bool has_cells = requires(const Rule& r, const MaskShape& s) { cells(r, s); };
  static_assert(has_apply || has_cells,
                "a rule needs cells(rule, shape) or apply_rule(rule, mask)");
  if constexpr (has_apply) {
    out.apply = [](const Step& s, const Mask& mask) { return apply_rule(s.as<Rule>(), mask); };
  }
  if constexpr (has_cells) {
    out.cells = [](const Step& s, const MaskShape& shape) { return cells(s.as<Rule>(), shape); };
  }
  if constexpr (requires(const Rule& r, const MaskShape& s) { diagonal(r, s); }) {
    out.diagonal = [](const Step& s, const MaskShape& shape) {
      return diagonal(s.as<Rule>(), shape);
    };
  }
  if constexpr (requires(const Rule& r, const MaskShape& s, const Cell& c) {
                  cell_before(r, s, c);
                }) {
    out.cell_before = [](const Step& s, const MaskShape& shape, const Cell& cell) {
      return cell_before(s.as<Rule>(), shape, cell);
    };
  }
  constexpr bool has_inside = requires(const Rule& r, const MaskShape& s, const Cell& c) {
    inside(r, s, c);
  };
  static_assert(
      has_inside == requires(const Rule& r) { r.chain; },
      "inside() says where the chain of a rule is applied");
  if constexpr (has_inside) {
    out.inside = [](const Step& s, const MaskShape& shape, const Cell& cell) {
      return inside(s.as<Rule>(), shape, cell);
    };
  }
  if constexpr (requires(const Rule& r) { hollow(r); }) {
    out.hollow = [](const Step& s) { return Step(hollow(s.as<Rule>())); };
  }
  if constexpr (requires(const Rule& r, const MaskShape& s) { idle(r, s); }) {
    out.idle = [](const Step& s, const MaskShape& shape) -> std::optional<Step> {
      return idle(s.as<Rule>(), shape);
    };
  }
  if constexpr (requires(const Rule& r, GivenNames g) { misfit(r, g); }) {
    out.misfit = [](const Step& s, GivenNames given) { return misfit(s.as<Rule>(), given); };
  }
  if constexpr (requires(Rule & r) { limit(r, Index{0}); }) {
    out.limit = [](Step& s, Index bytes) { limit(s.as<Rule>(), bytes); };
  }
  return out;
}

// Helpers for the files of rules.

inline MaskShape shape_of(const Mask& mask) {
  return {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
}
/// A mask of this shape whose cells are closed.
Mask closed_mask(const MaskShape& shape);
std::string shape_text(const MaskShape& shape);
/// Throws Error(kInvalidArgument) "step NAME: ...".
[[noreturn]] void refuse(std::string_view step, const std::string& why);
/// How far the diagonal is shifted: 0, or K - Q. Refuses an alignment that is needed and unset.
Index align_shift(const MaskShape& shape, Align align, std::string_view step);
/// align_shift() without its check.
constexpr Index shift_of(const MaskShape& shape, Align align) {
  return align == Align::kBottomRight ? shape.keys - shape.queries : 0;
}
/// One value per batch of the mask, from an array of 1 or B values.
std::vector<Index> per_batch(const MaskShape& shape, const NamedArray& array, std::string_view step,
                             const char* what);
/// per_batch() of an array that may be empty: `one` in all batches then.
std::vector<Index> per_batch(const MaskShape& shape, const NamedArray& array, Index one,
                             std::string_view step, const char* what);
/// Values of an array that is not empty, each within +-2^40.
std::vector<Index> per_batch_offsets(const MaskShape& shape, const NamedArray& array,
                                     std::string_view step, const char* what);
void check_offset(Index offset, std::string_view step);
/// Refuses lengths that are not 0 to `most`, the extent of the tokens that `side` names.
void check_lengths(std::span<const Index> lengths, Index most, std::string_view step,
                   const char* side);
/// Refuses ids or flags whose last extent is not `length`, or whose batch is neither 1 nor the
/// mask's.
void check_batched(const MaskShape& shape, const Tensor& array, Index length, std::string_view step,
                   const char* side);
/// One plane per batch, made once for batches with equal values; lists have one value per batch.
template <typename Make, std::same_as<std::vector<Index>>... Values>
Mask per_values(const MaskShape& shape, const Make& make, const Values&... values) {
  std::map<std::vector<Index>, PlanePtr> planes;
  return Mask::make(shape.batch, 1, shape.queries, shape.keys, [&](Index b, Index) {
    PlanePtr& plane = planes[{values[as_size(b)]...}];
    if (!plane) plane = make(values[as_size(b)]...);
    return plane;
  });
}

// For reason(): reads single elements, however large the array is.

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
