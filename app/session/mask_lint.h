// Looks for mistakes in a mask and in the steps that made it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "app/reports/check_report.h"
#include "maskctl/inspect/check/leaks.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::app {

/// The documents that the mask must keep apart: no query should see a key of another document.
struct LintDocuments {
  /// Returns the documents of the mask after its steps; nothing if there are none that fit it.
  std::function<std::optional<Documents>(const Mask& mask)> of;
  // True if an option gave the documents. If false, they are those of the SOURCE itself, whose mask
  // has no leaks between them until a step opens cells.
  bool given = false;
};

struct MaskLint {
  Findings findings;
  std::optional<Leaks> leaks;
  bool documents = false;  // the mask was compared with its documents
  // What was not examined, such as single cells of a large mask.
  std::vector<NotLookedAt> not_looked_at;
};

/// What is known about a mask besides its cells.
struct LintFacts {
  bool gives_nan = true;            // see lint_mask()
  std::optional<Chain> whole = {};  // all steps that make the mask from an all-open one, if known
};

/// Applies `chain` to `start`, then looks for mistakes in the steps and in the result. Throws like
/// apply().
MaskLint lint_steps_and_mask(Mask start, const Chain& chain, const LintDocuments& documents,
                             const LintFacts& facts = {});

}  // namespace maskctl::app
