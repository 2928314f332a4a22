// What looks wrong with a mask and the steps that made it.
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

/// The documents that the mask should keep to.
struct LintDocuments {
  /// The documents of the mask after its steps, if the ids fit it.
  std::function<std::optional<Documents>(const Mask& mask)> of;
  bool given = false;  // apart from the SOURCE, so that its own steps do not keep to them
};

struct MaskLint {
  Findings findings;
  std::optional<Leaks> leaks;
  bool documents = false;                  // the mask was compared with its documents
  std::vector<NotLookedAt> not_looked_at;  // masks whose single cells were not judged
};

/// What is known of a mask beside its cells.
struct LintFacts {
  bool gives_nan = true;            // see lint_mask()
  std::optional<Chain> whole = {};  // all steps that made the mask of an all-open one
};

/// Throws as apply() does.
MaskLint lint_steps_and_mask(Mask start, const Chain& chain, const LintDocuments& documents,
                             const LintFacts& facts = {});

}  // namespace maskctl::app
