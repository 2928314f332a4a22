// Finds mistakes in arrays, steps and masks without knowing what was intended: the parts of
// check(); private to inspect.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/inspect/check/check.h"
#include "maskctl/inspect/check/finding.h"
#include "maskctl/inspect/check/leaks.h"
#include "maskctl/inspect/check/pattern.h"
#include "maskctl/inspect/recognise/known_planes.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The row of each finding is `LintRule lint_row(RuleKey<ID>)`, above the code that finds it;
/// without it the program does not link. lint_rules() adds the key.
template <FindingId id>
struct RuleKey {};

Findings lint_reading(const ReadFacts& facts);
/// Reports what was noticed in lists of keys; a part of lint_reading().
Findings lint_facts(const ArrayFacts& facts);

/// Checks cu_seqlens, which messages call `what`. `tokens`: the expected last entry, if known.
/// Mistakes become findings; nothing throws.
Findings lint_cu_seqlens(const Tensor& array, std::optional<Index> tokens,
                         std::string_view what = "cu_seqlens");
/// Checks segment ids, or position ids, of shape [S] or [B,S]. `real`: the flags of
/// DocumentSource::real, if they are known.
Findings lint_segments(const Tensor& array, std::int32_t pad_id);
Findings lint_positions(const Tensor& array, const std::optional<Tensor>& real = std::nullopt);
/// Compares arrays that describe the same tokens, and their flags of padding, with each other
/// (diff/descriptions.h). Arrays that lint_cu_seqlens() calls wrong are left out.
Findings lint_descriptions(std::span<const DocumentSource* const> arrays);

/// Checks the mask alone: polarity, direction, alignment, the future, planes against each other,
/// rows without keys. `real_queries`, if given, broadcasts over batches and heads. Rows that are
/// empty in it are declared to be padding, which may be without keys; with `all_declared`, its
/// other rows are declared to be tokens. `gives_nan`: closed cells have a weight of exactly 0, so
/// that a plain softmax gives NaN in rows without keys; false for a bias that closes cells with a
/// finite number.
Findings lint_mask(const Mask& mask, const Mask* real_queries, bool gives_nan = true,
                   bool all_declared = false);
/// Reports the single cells that deviate from a few steps which make nearly the whole mask, and
/// those between the documents or chunks of such steps. Absent if the cells follow a rule of their
/// own, or if nearly the whole mask cannot be made by a few steps: single cells cannot be judged
/// then.
std::optional<Findings> lint_pattern(const Pattern& pattern);
/// Finds a head of a mask of no few steps that sees across the documents of which another head is
/// made.
Findings lint_heads(const Pattern& pattern, recognition::KnownPlanes& known);
/// Finds heads of one batch entry that differ in the keys beside a query, and a head whose window
/// differs between entries.
Findings lint_heads_alike(const Mask& mask, recognition::KnownPlanes& known);
/// Finds a head that sees the cells of another head of its batch entry and a rectangle beside them.
std::optional<Finding> lint_head_region(const Mask& mask);
/// Finds a head that hides cells in one batch entry, which another head sees, and shows them in
/// another entry.
Findings lint_entries_alike(const Mask& mask);
/// Finds heads of one batch entry that are made of different trees.
Findings lint_trees_of_heads(const Mask& mask, recognition::KnownPlanes& known);
/// Finds later tokens of a group, as of an image, that a token of it does not see.
Findings lint_group_holes(const Mask& mask);
/// Finds causal windows of one size for the first queries and of another for the others.
Findings lint_window(const Mask& mask);
/// Reports a mask of no few steps whose cells make some in rows as long as its columns.
Findings lint_row_length(const Mask& mask);
/// Finds documents of the steps of a pattern across whose borders a head sees and another head of
/// the batch entry does not: all heads have the same tokens.
Findings lint_documents_of_heads(const Pattern& pattern, recognition::KnownPlanes& known);
/// Checks the steps that explain a mask: a diagonal in the future, documents that a later step
/// opens to each other, or, where they explain it but for few cells, heads with different
/// documents.
Findings lint_recognised(const Pattern& pattern, recognition::KnownPlanes& known);
/// Compares a mask with documents: leaks, and padding that is attended. `leaks`: leaks(mask,
/// documents).
Findings lint_documents(const Mask& mask, const Documents& documents, const Leaks& leaks);
/// Compares a mask with an additive bias that is given along with it. `bias`: the cells that the
/// bias leaves open.
Findings lint_bias(const Mask& mask, const Mask& bias);
/// The cells that a step opened after an earlier step had closed them.
struct Reopened {
  std::size_t finding;  // index of the finding that reports these cells
  Mask cells;
};
struct ChainFindings {
  Findings findings;
  /// The cells that each step reopened, as masks of the shape of `mask`. Steps before one that
  /// moves cells to other indices are left out.
  std::vector<Reopened> reopened;
  Mask mask;            // the mask after all steps
  bool opened = false;  // whether some step opened or moved cells
};
/// Applies steps to `mask`; `texts` names them. Reports steps that change nothing, and steps that
/// reopen what an earlier step closed.
ChainFindings lint_chain(Mask mask, const Chain& chain, std::span<const std::string> texts);

}  // namespace maskctl
