// The table entry of each rule: its cells, why a cell is open, its formula, and how it is written.
#pragma once

#include <concepts>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/steps/change.h"
#include "maskctl/mask/steps/expr.h"
#include "maskctl/mask/steps/field.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

class ArgumentBits;  // bits.h
class SampledRows;   // guess.h
class StepEdits;     // edits.h

/// What a step does, whatever its arguments are: it only closes cells (kAnd), only opens cells
/// (kOr), or neither (kOwn).
enum class StepKind : std::uint8_t { kAnd, kOr, kOwn };

/// The name under which a pipeline uses a rule. A rule has one or several: and, or, xor and sub are
/// one rule.
struct StepInfo {
  std::string_view name = {};
  StepKind kind = StepKind::kAnd;
  std::string_view meaning = {};  // one line
  std::string_view formula = {};  // the cells that the step keeps or opens
  std::string_view example = {};  // binds without changes, apart from its files
  std::span<const Field> args = {};
  std::string_view noun = {};        // what makes up such a mask: "documents"; empty: the name
  std::string_view synonyms = {};    // other names in use, separated by blanks: "sliding swa"
  Step (*make)() = nullptr;          // a step with default arguments; null for generators
  Chain* (*chain)(Step&) = nullptr;  // the chain in {...}; null if the step has none
  bool for_calls = false;            // only for calls of attention: no pipeline names it
};

/// What a step does to the mask with the cells that `cells()` gives.
enum class Meets : std::uint8_t {
  kKeeps,     // closes all other cells
  kOpens,     // opens these cells
  kCloses,    // closes these cells
  kFlips,     // opens the closed and closes the open ones of these cells
  kReplaces,  // these cells become the mask
  kOwn,       // none of these: see apply()
};

/// What it means when a later step opens cells that this step closed: kHarmless if only the order
/// of the steps matters, kLeak if attention then reaches other documents or padding.
enum class Reopening : std::uint8_t { kHarmless, kLeak };

/// Whether a rule says which queries are padding, that is, see no key on purpose.
enum class Declares : std::uint8_t {
  kNothing,
  kPadding,  // rows closed by the step are padding; also for rules that move cells, as slice does
  kPart,     // declared() returns the step that says which queries are padding
};

/// The cells on and between two diagonals: query q keeps keys q + low to q + high, both inclusive.
/// -kUnbounded and kUnbounded (bands.h) mean no limit.
struct Diagonal {
  Index low = 0, high = 0;
  Index centre = 0;  // the diagonal (key - query) from which the sides are counted
  Index offset = 0;  // distance of `centre` from the diagonal that `align` gives
  // Whether `high` is `centre` because the rule is causal; false if an argument gave this `high`.
  bool is_causal = false;
};

/// The documents of a step, either as lengths, from the first token on, or as one id per token. Its
/// spans and pointers refer to data of the step.
struct StepDocuments {
  std::span<const Index> q_lengths = {}, k_lengths = {};
  const Tensor *q_ids = nullptr, *k_ids = nullptr;  // [S] or [B,S]; null if lengths are given
  std::int32_t pad_id = -1;                         // the id of tokens in no document
  bool shared = true;                               // queries and keys share their lengths or ids
};

/// The heads or batches to which a step applies its chain (the steps in its {...}), as if the mask
/// had only these. `members` refers to data of the step.
struct StepScope {
  bool of_heads = false;
  std::span<const Range> members;
};

/// Whether a cell is one of the cells of a rule, and why: one line that quotes the numbers used.
struct PairReason {
  bool holds = false;
  std::string words;
};

/// The part of a mask to which a step applies its chain (the steps in its {...}): the shape of this
/// part, and the index of a cell, counted from the part's first cell.
struct Inside {
  MaskShape shape;
  Cell cell;
  std::optional<Chain> chain = {};  // as it is for this part, unless it is the same for all
};

/// An error in arguments that are valid one by one but not together.
struct Misfit {
  std::string_view field;
  std::string message;
};
using GivenNames = std::span<const std::string_view>;

/// The table entry of a rule. Functions that a rule does not need are null. describe() fills the
/// entry and does not compile if something required is missing.
struct RuleInfo {
  std::span<const StepInfo> names;
  Reopening reopening;
  Declares declares;
  std::size_t (*index)();                       // listed_index()
  bool (*equal)(const Step& a, const Step& b);  // both steps must be of this rule
  std::size_t (*name_index)(const Step& step);  // index in `names`
  Meets (*meets)(const Step& step);
  /// The cells of the rule. The batch and head extents may be 1 and then broadcast. Throws
  /// Error(kInvalidArgument, kShape).
  Mask (*cells)(const Step& step, const MaskShape& shape);
  /// The words for the step in a sentence, such as "chunk size 8"; if null, its name is used.
  std::string (*words)(const Step& step);
  /// Whether and why `cell` is among the cells of the rule. `cell` must be inside the shape, and
  /// the step must fit the shape, which only cells() and apply() check.
  PairReason (*reason)(const Step& step, const MaskShape& shape, const Cell& cell);
  CellFormula (*formula)(const Step& step);
  /// The cells as a range of diagonals; nothing if batches differ. Null for rules without
  /// diagonals.
  std::optional<Diagonal> (*diagonal)(const Step& step, const MaskShape& shape);
  /// Applies a step whose effect is not given by `cells` and `meets`, or applies it faster; null
  /// for all other rules.
  Mask (*apply)(const Step& step, const Mask& mask);
  /// The index that a cell had in the mask before the step; null if the step moves no cells.
  Cell (*cell_before)(const Step& step, const MaskShape& shape, const Cell& cell);
  /// Where the step's chain is applied to `cell`; nothing if it is not applied to this cell, and
  /// then `reason` alone decides. Null for rules without a chain.
  std::optional<Inside> (*inside)(const Step& step, const MaskShape& shape, const Cell& cell);
  /// A step that makes the same checks and gives a mask of the same shape, but neither reads a mask
  /// nor draws random cells; null: the step itself.
  Step (*hollow)(const Step& step);
  /// The step with numbers that make it change nothing. Nothing, or null, if there are none.
  std::optional<Step> (*idle)(const Step& step, const MaskShape& shape);
  /// The step, or the part of it, that says which queries of a mask of this shape are padding;
  /// nothing if no part does. Null unless `declares` is kPart.
  std::optional<Step> (*declared)(const Step& step, const MaskShape& shape);
  /// The documents of the step. Null for rules without documents.
  StepDocuments (*documents)(const Step& step);
  /// The heads or batches of the step. Null for rules that do not apply a chain to heads or
  /// batches.
  StepScope (*scope)(const Step& step);
  /// How many bits the arguments take; null: ArgumentBits::arguments().
  Index (*bits)(const Step& step, const ArgumentBits& bits);
  /// Adds the steps that someone may have meant instead; null: StepEdits::usual().
  void (*edits)(const Step& step, StepEdits& edits);
  /// What differs between `a` and `b`, a step of this rule or of one with the same cells. Nothing
  /// for other steps, and where comparing argument by argument is enough; null if that is always
  /// enough.
  std::optional<Reason> (*change)(const Step& a, const Step& b);
  /// Chains with a step of this rule that may make the plane, with numbers that are read off its
  /// rows; some may be wrong. The caller compares each with the plane. Null for rules that
  /// recognise() finds in other ways.
  std::vector<Chain> (*guesses)(const SampledRows& rows);
  /// Cells that the step closes because the query is to predict the key: one that is open is a
  /// leak, however many there are. Null where no cell is known to be one.
  Mask (*hides)(const Step& step, const MaskShape& shape);
  std::optional<Misfit> (*misfit)(const Step& step, GivenNames given);
  void (*limit)(Step& step, Index max_bytes);
};

/// The index of the step's rule in the list of rules.h.
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
/// The chain in the braces of a step; null for a step without one.
const Chain* chain_of(const Step& step);
/// True if the step can only close cells.
bool only_closes(const Step& step);
/// True for steps, such as causal and window, whose cells lie between two diagonals.
bool keeps_diagonals(const Step& step);
/// The documents of a step; nothing if its rule has none.
std::optional<StepDocuments> documents_in(const Step& step);
/// The argument with this name; nullptr if the step has none.
const Field* find_field(const Step& step, std::string_view name);
/// Reduces a chain for a mask of this shape to the steps (or parts of steps) that say which queries
/// are padding, and the steps that move cells.
Chain declaring(const Chain& chain, MaskShape shape);

/// What a step does to one cell.
struct Verdict {
  bool after = false;  // whether the pair is open after the step
  std::string reason;
};
/// Applies the step to one cell, given its state before the step. `cell` is an index in the mask
/// before the step. The step must fit the shape, which apply() checks. Does not apply a chain
/// inside the step; why() does that.
Verdict verdict_of(const Step& step, const MaskShape& shape, const Cell& cell, bool before);
/// The cell to pass to verdict_of() for `to`, a cell of the mask after the step. Unlike
/// cell_before_step(), it keeps the batch and head of `to` even if the mask before has only one.
Cell asked_cell(const Step& step, const MaskShape& shape, const Cell& to);
/// The cell of the mask before the step that becomes `to`, a cell of the mask after it.
Cell cell_before_step(const Step& step, const MaskShape& shape, const Cell& to);

template <typename Rule>
Step blank() {
  return Rule{};
}
template <typename Rule>
Chain* chain_in(Step& step) {
  return &step.as<Rule>().chain;
}

/// The index of a rule in the list of rules.h. A rule that the list lacks does not link.
template <typename Rule>
std::size_t listed_index();

// describe() in four parts. Each takes the functions that the rule's file defines, and leaves the
// others null.

/// What the cells of a rule are, why a cell is one of them, and how they meet the mask.
template <typename Rule>
constexpr void describe_cells(RuleInfo& out) {
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
}

/// What a rule says of parts of the mask: the part that its chain is applied to, queries that are
/// padding, documents, heads and batches.
template <typename Rule>
constexpr void describe_parts(RuleInfo& out) {
  constexpr bool has_part = requires(const Rule& r, const MaskShape& s) { declared(r, s); };
  if constexpr (has_part) {
    out.declared = [](const Step& s, const MaskShape& shape) {
      return declared(s.as<Rule>(), shape);
    };
  }
  if ((out.declares == Declares::kPart) != has_part) {
    throw "declared() belongs to a rule that declares kPart";  // stops the compilation
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
  if constexpr (requires(const Rule& r) { documents(r); }) {
    out.documents = [](const Step& s) { return documents(s.as<Rule>()); };
  }
  if constexpr (requires(const Rule& r) { scope(r); }) {
    out.scope = [](const Step& s) { return scope(s.as<Rule>()); };
  }
}

/// Other steps beside a step: without reading, without effect, meant instead, or read off a mask.
template <typename Rule>
constexpr void describe_others(RuleInfo& out) {
  if constexpr (requires(const Rule& r) { hollow(r); }) {
    out.hollow = [](const Step& s) { return Step(hollow(s.as<Rule>())); };
  }
  if constexpr (requires(const Rule& r, const MaskShape& s) { idle(r, s); }) {
    out.idle = [](const Step& s, const MaskShape& shape) -> std::optional<Step> {
      return idle(s.as<Rule>(), shape);
    };
  }
  if constexpr (requires(const Rule& r, StepEdits& e) { edits(r, e); }) {
    out.edits = [](const Step& s, StepEdits& e) { edits(s.as<Rule>(), e); };
  }
  if constexpr (requires(const Rule& r, const Step& other) { change(r, other); }) {
    out.change = [](const Step& a, const Step& b) -> std::optional<Reason> {
      return change(a.as<Rule>(), b);
    };
  }
  if constexpr (requires(const Rule& r, const MaskShape& s) { hides(r, s); }) {
    out.hides = [](const Step& s, const MaskShape& shape) { return hides(s.as<Rule>(), shape); };
  }
  if constexpr (requires(const Rule* r, const SampledRows& rows) { guesses(r, rows); }) {
    out.guesses = [](const SampledRows& rows) {
      return guesses(static_cast<const Rule*>(nullptr), rows);
    };
  }
}

/// The arguments of a rule: its name and words under them, what they take, and which do not fit.
template <typename Rule>
constexpr void describe_arguments(RuleInfo& out) {
  out.equal = [](const Step& a, const Step& b) { return a.as<Rule>() == b.as<Rule>(); };
  out.name_index = [](const Step&) -> std::size_t { return 0; };
  if constexpr (requires(const Rule& r) { name_index(r); }) {
    out.name_index = [](const Step& s) { return name_index(s.as<Rule>()); };
  }
  if constexpr (requires(const Rule& r) { words(r); }) {
    out.words = [](const Step& s) { return words(s.as<Rule>()); };
  }
  if constexpr (requires(const Rule& r, const ArgumentBits& b) { bits(r, b); }) {
    out.bits = [](const Step& s, const ArgumentBits& b) { return bits(s.as<Rule>(), b); };
  }
  if constexpr (requires(const Rule& r, GivenNames g) { misfit(r, g); }) {
    out.misfit = [](const Step& s, GivenNames given) { return misfit(s.as<Rule>(), given); };
  }
  if constexpr (requires(Rule & r) { limit(r, Index{0}); }) {
    out.limit = [](Step& s, Index bytes) { limit(s.as<Rule>(), bytes); };
  }
}

/// Makes the table entry of a rule. The rule's file defines for its type meets(), cells() or
/// apply_rule(), reason() and formula(), and where it needs them name_index(), words(), declared(),
/// diagonal(), cell_before(), inside(), hollow(), idle(), documents(), scope(), bits(), edits(),
/// change(), guesses(), hides(), misfit() and limit().
template <typename Rule>
constexpr RuleInfo describe(std::span<const StepInfo> names, Reopening reopening,
                            Declares declares) {
  static_assert(step::Rule<Rule>, "a rule declares row() beside its struct");
  RuleInfo out{};
  out.names = names;
  out.reopening = reopening;
  out.declares = declares;
  out.index = listed_index<Rule>;
  describe_cells<Rule>(out);
  describe_parts<Rule>(out);
  describe_others<Rule>(out);
  describe_arguments<Rule>(out);
  return out;
}

// Helpers for the files that define rules.

inline MaskShape shape_of(const Mask& mask) {
  return {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
}
/// A mask of this shape with all cells closed.
Mask closed_mask(const MaskShape& shape);
std::string shape_text(const MaskShape& shape);
/// Throws Error(kInvalidArgument) "step NAME: ...".
[[noreturn]] void refuse(std::string_view step, const std::string& why);
/// How far `align` shifts the diagonal: 0, or K - Q. Refuses kUnset unless Q = K.
Index align_shift(const MaskShape& shape, Align align, std::string_view step);
/// align_shift() without the check that Q = K when `align` is kUnset.
constexpr Index shift_of(const MaskShape& shape, Align align) {
  return align == Align::kBottomRight ? shape.keys - shape.queries : 0;
}
/// One value per batch of the mask, from an array of 1 or B values.
std::vector<Index> per_batch(const MaskShape& shape, const NamedArray& array, std::string_view step,
                             const char* what);
/// One value per batch, as above, from an array that may be empty: an empty one means `one` in all
/// batches.
std::vector<Index> per_batch(const MaskShape& shape, const NamedArray& array, Index one,
                             std::string_view step, const char* what);
/// The values of an array that is not empty, one per batch; each must be within +-2^40.
std::vector<Index> per_batch_offsets(const MaskShape& shape, const NamedArray& array,
                                     std::string_view step, const char* what);
void check_offset(Index offset, std::string_view step);
/// Refuses lengths below 0 or above `most`, the number of queries or keys; `side` names these in
/// the error.
void check_lengths(std::span<const Index> lengths, Index most, std::string_view step,
                   const char* side);
/// Refuses ids or flags whose last extent is not `length`, or whose batch is neither 1 nor that of
/// the mask.
void check_batched(const MaskShape& shape, const Tensor& array, Index length, std::string_view step,
                   const char* side);
/// Calls `make` for each batch with its entry of each list in `values` (one per batch). Batches
/// with equal entries share one plane.
template <typename Make, std::same_as<std::vector<Index>>... Values>
Mask per_values(const MaskShape& shape, const Make& make, const Values&... values) {
  std::map<std::vector<Index>, PlanePtr> planes;
  return Mask::make(shape.batch, 1, shape.queries, shape.keys, [&](Index b, Index) {
    PlanePtr& plane = planes[{values[as_size(b)]...}];
    if (!plane) plane = make(values[as_size(b)]...);
    return plane;
  });
}

// Helpers for reason(), which read single elements instead of converting the whole array.

Index element(const Tensor& array, Index i);
bool is_set(const Tensor& array, Index i);  // true if the element is not 0
/// The value for batch b in an array [1] or [B]; `absent` for an empty array.
Index of_batch(const NamedArray& array, Index b, Index absent = 0);
/// The flat index of token i of batch b in an array [S], [1,S] or [B,S].
Index token_index(const Tensor& array, Index b, Index i);
/// For a shifted diagonal, text such as " (query 5 + 4 from K - Q + 2 from offset)".
std::string diagonal_text(const Cell& cell, Index shift, Index offset);
/// True if one of the ranges contains i.
bool any_contains(std::span<const Range> ranges, Index i);

}  // namespace maskctl
