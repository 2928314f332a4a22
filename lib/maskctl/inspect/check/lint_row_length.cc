// Finds cells that were read in rows of another length.
#include <fmt/format.h>

#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/recognise/row_length.h"
#include "maskctl/mask/steps/chain_text.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kExtentsExchanged>) {
  return {
      .id = "extents-exchanged",
      .severity = Severity::kWarning,
      .summary = "the cells make a rule in rows of another length",
      .claim =
          "no few steps make the mask, and those named make its cells, one after another, in "
          "as many rows as it has keys",
      .why =
          "bits and flat arrays do not say how long their rows are: a mask [K,Q] that is read "
          "as [Q,K] has the right size, and nearly every row is wrong",
      .fix = "exchange the two extents of the shape, or transpose the mask before it is packed",
      .example =
          R"(python3 -c 'import numpy as np; np.save("bits.npy", np.packbits(np.tri(10, 20, 10, dtype=bool).T, bitorder="little"))'
maskctl check bits.npy --as bits --shape 1+1+10+20)",
      .unfixed = "the cells are right, the shape in which they are read is not"};
}

Findings lint_row_length(const Mask& mask) {
  constexpr Index kFewCells = 64;  // of which some steps make any in rows of some length
  if (mask.distinct().size() != 1 || mask.queries() * mask.keys() < kFewCells) return {};
  const auto chain = chain_with_exchanged_extents(mask);
  if (!chain) return {};
  return {{&lint_rule(FindingId::kExtentsExchanged),
           fmt::format("the same cells in {} rows of {} keys are {}", mask.keys(), mask.queries(),
                       to_text(*chain)),
           {},
           0}};
}

}  // namespace maskctl
