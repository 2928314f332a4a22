// Findings in what the recognised steps themselves say: a diagonal that lies in the future, and
// documents that a later step opens to each other.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/check/recognised_steps.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kFutureDiagonal>) {
  return {
      .id = "future-diagonal",
      .severity = Severity::kWarning,
      .summary = "a causal mask whose queries see keys after their own",
      .claim = "in the head the query sees that many keys after its own",
      .why =
          "the next token is what a language model predicts: it reads its own target, and the loss "
          "falls too low; right only where later tokens may be seen, as in speech with look-ahead",
      .fix = "drop the offset",
      .example = "maskctl check gen:causal:offset=1,n=32",
      .fixed = make_causal,
      .unfixed = "some queries would see no key"};
}

LintRule lint_row(RuleKey<FindingId::kDocumentsReopened>) {
  return {
      .id = "documents-reopened",
      .severity = Severity::kNote,
      .summary = "documents with a window see tokens of another one",
      .claim =
          "in a causal mask that many cells lie across the borders of documents of the lengths "
          "named, all of them of the keys named",
      .why =
          "right where documents share these tokens, as answers share a prompt; sinks that are "
          "opened after the documents were closed show those of the first to all others",
      .fix =
          "open sinks first, close documents last; or give each document its own sinks, with "
          "within",
      .example =
          R"(python3 -c 'import numpy as np; q, k = np.indices((128, 128)); ends = [37, 88, 100]; same = np.searchsorted(ends, q, "right") == np.searchsorted(ends, k, "right"); np.save("mask.npy", (k <= q) & ((k < 4) | same & (q - k < 16)))'
maskctl check mask.npy)",
      .beside = {LintRule::Beside::kIsReopening}};
}

namespace {

/// The first cell of the diagonal that lies `later` keys after the queries' own keys. Nothing if no
/// query sees a key more than `later` keys before its own: the plane is then a window around each
/// query.
std::optional<Cell> first_ahead(const PlanePtr& plane, Index later) {
  const auto reach = recognition::diagonals(*plane);
  if (!reach || -reach->low <= later) return std::nullopt;
  const PlanePtr ahead = diagonal_band(plane->queries(), plane->keys(), later, later);
  return first_cell(*combine(Op::kAnd, plane, ahead));
}

/// How far a step moves the keys of all tokens on, the last ones to the front; 0 if it does not.
Index roll_of(const step::At& at, Index tokens) {
  if (!at.q.empty() || !at.kv.empty() || !at.queries.empty() || at.stride != 1) return 0;
  if (at.keys.size() != 2 || at.keys[1].begin != 0) return 0;
  const Index roll = at.keys[0].size();
  const bool all = at.keys[0] == Range{tokens - roll, tokens} && at.keys[1].end == tokens - roll;
  return all ? roll : 0;
}

bool is_causal_chain(const Chain& chain) {
  return std::ranges::any_of(chain, [](const Step& step) {
    const auto* causal = step.get_if<step::Causal>();
    return causal != nullptr && causal->offsets.empty();
  });
}

/// Finds causal steps with an offset, or with keys that are moved on, that let queries see later
/// tokens. Only for masks in which queries and keys are the same tokens.
void lint_diagonal(const Pattern& pattern, Findings& out) {
  const Mask& mask = pattern.mask;
  if (mask.queries() != mask.keys()) return;
  std::optional<Finding> first;
  each_step(pattern.found.chain, {}, [&](const Step& step, const StepPlaces& scope) {
    const auto* causal = step.get_if<step::Causal>();
    const auto* placed = step.get_if<step::At>();
    const Index roll = placed && is_causal_chain(placed->chain) ? roll_of(*placed, mask.keys()) : 0;
    if ((!causal && roll == 0) || first) return;
    Index later = roll;
    std::optional<Cell> cell;
    const auto at = scope.first(mask, [&](Index b, Index h) {
      if (causal) later = of_batch(causal->offsets, b);
      if (later <= 0 || later >= mask.keys() - 1) return false;
      cell = first_ahead(mask.plane(b, h), later);
      return cell.has_value();
    });
    if (!at) return;
    first = {
        &lint_rule(FindingId::kFutureDiagonal),
        fmt::format("query {} sees key {}, {} after its own: {} moved by {}", cell->query,
                    cell->key, later, causal ? "the causal diagonal is" : "the keys are", later),
        {at->first, at->second, cell->query, cell->key, {}, {}},
        later};
  });
  if (first) out.push_back(std::move(*first));
}

/// Finds documents of a causal mask with a window that a later step opens to each other, in the
/// columns of fewer tokens than the window has: longer ones are a prompt that answers share.
void lint_reopened(const Pattern& pattern, Findings& out) {
  const Mask& mask = pattern.mask;
  if (mask.queries() != mask.keys() || mask.distinct().size() > 1 || pattern.opened) return;
  const auto reach = recognition::diagonals(*mask.plane(0, 0));
  if (!reach || reach->high > 0) return;
  Index window = 0;
  for (const Step& step : pattern.found.chain) {
    const auto* found = step.get_if<step::Window>();
    if (found != nullptr && found->left) window = *found->left + 1;
  }
  for (const Step& step : pattern.found.chain) {
    const std::vector<Index> lengths = document_lengths_of(step, mask.keys());
    if (lengths.empty() || step.is<step::Chunk>()) continue;
    const Mask across = zip(Op::kSub, mask, maskctl::apply(mask, {step}));
    const Index cells = across.count();
    if (cells == 0) return;
    const Range keys = recognition::hull_of(*across.plane(0, 0)).k;
    if (keys.size() >= window) return;
    const Cell at = *first_cell(across);
    out.push_back(
        {&lint_rule(FindingId::kDocumentsReopened),
         fmt::format("{} across documents of {} tokens, all of {}", counted(cells, "cell"),
                     list_text(lengths), range_words(keys, "key")),
         {at.batch, at.head, at.query, at.key, {}, {}},
         cells});
    return;
  }
}

}  // namespace

Findings lint_recognised(const Pattern& pattern, recognition::KnownPlanes& planes) {
  constexpr Index kMostShare = 64;  // more unexplained cells make the steps a guess
  Findings out;
  if (pattern.explained) lint_diagonal(pattern, out), lint_reopened(pattern, out);
  const Recognised& found = pattern.found;
  const bool nearly = !found.irregular && kMostShare * found.residue.cells <= pattern.mask.cells();
  if (pattern.explained || nearly) {
    std::ranges::move(lint_documents_of_heads(pattern, planes), std::back_inserter(out));
  }
  return out;
}

}  // namespace maskctl
