// Mistakes that can be told from the arrays, the steps and the mask alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/inspect/leaks.h"
#include "maskctl/inspect/recognise.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/step.h"

namespace maskctl {

enum class Severity : std::uint8_t { kError, kWarning, kNote };
/// "error", "warning", "note".
std::string_view name(Severity severity);

/// One kind of finding. Ids never change their meaning.
struct LintRule {
  std::string_view id;
  Severity severity = Severity::kWarning;
  std::string_view summary;
  std::string_view why;  // what which backend does with it
  std::string_view fix;
};
/// All of them; docs/lint.md has the same table.
std::span<const LintRule> lint_rules();
/// Throws std::out_of_range for an id that is not in the table.
const LintRule& lint_rule(std::string_view id);

/// Where a finding is; what does not apply is absent.
struct Where {
  std::optional<Index> batch, head, query, key;
  std::optional<Index> entry;  // of an array, in its last axis
  std::optional<Index> step;   // of the chain, from 1
};
/// "batch 0, head 0, query 3"; empty when nothing is known.
std::string to_text(const Where& where);

struct Finding {
  const LintRule* rule = nullptr;
  std::string message;
  Where where;
  Index count = 0;  // cells, rows, entries: what the message counts
};
using Findings = std::vector<Finding>;

/// What reading found out about the elements.
struct ReadFacts {
  Index odd_bools = 0;      // bool bytes that are neither 0 nor 1
  bool inf_closed = false;  // a bias closes cells with -inf,
  bool min_closed = false;  // with the least finite number
};
Findings lint_reading(const ReadFacts& facts);

/// `tokens`: what the last entry must be, where it is known. Nothing that is wrong throws.
Findings lint_cu_seqlens(const Tensor& array, std::optional<Index> tokens);
/// Ids [S] or [B,S].
Findings lint_segments(const Tensor& array, std::int32_t pad_id);
Findings lint_positions(const Tensor& array);
/// Both must cut the tokens at the same places, padding aside.
Findings lint_positions_against_segments(const Tensor& positions, const Tensor& segments,
                                         std::int32_t pad_id);

/// The mask alone: polarity, direction, alignment, rows without keys. `documents`, where given,
/// tell which rows are padding. `gives_nan`: what is closed weighs exactly 0, so that rows without
/// keys are NaN in a plain softmax; not so of a bias that closes with a finite number.
Findings lint_mask(const Mask& mask, const Documents* documents, bool gives_nan = true);
/// A mask that is nearly what a few steps make: the cells that they do not explain. `words` and
/// `text` name the steps, "documents and causal" and "doc:lens=9+6+7 | causal".
Findings lint_pattern(const Recognised& found, const std::string& words, const std::string& text,
                      const Mask& mask);
/// The mask against documents: leaks, attended padding. `leaks` are those of both.
Findings lint_documents(const Mask& mask, const Documents& documents, const Leaks& leaks);
/// A mask and an additive bias that are given together; `bias`: what it leaves open.
Findings lint_bias(const Mask& mask, const Mask& bias);
/// Steps applied to `mask`, each named by its text: those that change nothing, and those that
/// reopen what an earlier one closed.
struct ChainFindings {
  Findings findings;
  Mask mask;            // after all steps
  bool opened = false;  // some step opened cells, or moved them
};
ChainFindings lint_chain(Mask mask, const Chain& chain, std::span<const std::string> texts);

}  // namespace maskctl
