// Finds mistakes in arrays, steps and masks without knowing what was intended.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/inspect/check/leaks.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

enum class Severity : std::uint8_t { kError, kWarning, kNote };
/// "error", "warning", "note".
std::string_view name(Severity severity);

/// One kind of finding. The meaning of an id never changes.
struct LintRule {
  std::string_view id;
  Severity severity = Severity::kWarning;
  std::string_view summary;
  std::string_view why;  // what backends do with it
  std::string_view fix;
  Remedy remedy = {};  // another fix
};
/// The whole table; docs/lint.md has the same one.
std::span<const LintRule> lint_rules();
/// Throws std::out_of_range for an id that is not in the table.
const LintRule& lint_rule(std::string_view id);

/// Where a finding is; parts that do not apply are absent.
struct Location {
  std::optional<Index> batch, head, query, key;
  std::optional<Index> entry;  // index in the last axis of an array
  std::optional<Index> step;   // step of the chain, from 1
};
/// For example "batch 0, head 0, query 3"; empty when nothing is known.
std::string to_text(const Location& where);

struct Finding {
  const LintRule* rule = nullptr;
  std::string message;
  Location where;
  Index count = 0;  // of cells, rows or entries, whichever the message counts
};
using Findings = std::vector<Finding>;

/// What was noticed while the elements were read.
struct ReadFacts {
  Index odd_bools = 0;      // bool bytes that are neither 0 nor 1
  bool inf_closed = false;  // a bias closes cells with -inf
  bool min_closed = false;  // a bias closes cells with the lowest finite number
};
Findings lint_reading(const ReadFacts& facts);

/// `tokens` is the expected last entry, if known. Mistakes are findings and never throw.
Findings lint_cu_seqlens(const Tensor& array, std::optional<Index> tokens);
/// Ids [S] or [B,S].
Findings lint_segments(const Tensor& array, std::int32_t pad_id);
Findings lint_positions(const Tensor& array);
/// Both must cut the tokens at the same positions, apart from padding.
Findings lint_positions_against_segments(const Tensor& positions, const Tensor& segments,
                                         std::int32_t pad_id);

/// Looks at the mask alone: polarity, direction, alignment, the future, planes against each other,
/// rows without keys. A row that is empty in `real_queries`, if given, is declared to be padding:
/// there, a row without keys is meant; its batches and heads broadcast. `gives_nan`: closed cells
/// weigh exactly 0, so that rows without keys are NaN in a plain softmax; false for a bias that
/// closes with a finite number.
Findings lint_mask(const Mask& mask, const Mask* real_queries, bool gives_nan = true);
/// What recognise() says of a mask, not counting rows of padding that were opened; rows, columns
/// and rectangles at the end are cells (regions_as_cells()). Throws as recognise() does.
struct Pattern {
  Mask mask;  // without the opened rows
  Recognised found;
  bool explained = false;  // with those regions, a few steps without arrays make the mask
};
Pattern pattern_of(const Mask& mask);
/// For a mask that a few steps nearly explain: the cells that they do not explain, if those follow
/// no rule of their own. Nothing for a mask that no few steps explain: its single cells cannot be
/// judged. `words` and `text` name the steps: "documents and causal" and "doc:lens=9+6+7 | causal".
std::optional<Findings> lint_pattern(const Pattern& pattern, const std::string& words,
                                     const std::string& text);
/// Looks at the steps themselves, where they explain the mask: a diagonal in the future, heads with
/// other documents.
Findings lint_recognised(const Pattern& pattern);
/// Compares the mask with documents: leaks, attended padding. `leaks` are between the two.
Findings lint_documents(const Mask& mask, const Documents& documents, const Leaks& leaks);
/// Compares a mask with an additive bias that is given with it; `bias` is what the bias leaves
/// open.
Findings lint_bias(const Mask& mask, const Mask& bias);
/// Cells that a step opened after an earlier one had closed them.
struct Reopened {
  std::size_t finding;  // index of the finding that says so
  Mask cells;
};
struct ChainFindings {
  Findings findings;
  std::vector<Reopened>
      reopened;         // in the shape of `mask`; none of steps before one that moves cells
  Mask mask;            // after all steps
  bool opened = false;  // some step opened or moved cells
};
/// Applies steps to `mask`, each named by its text; reports those that change nothing and those
/// that reopen what an earlier one closed.
ChainFindings lint_chain(Mask mask, const Chain& chain, std::span<const std::string> texts);

}  // namespace maskctl
