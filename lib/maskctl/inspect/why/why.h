// Explains why a query may or may not attend to a key: follows the pair through a chain of steps.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// What one step did to the pair of query and key.
struct WhyStep {
  std::string text;    // the step as text, made by the StepName given to why()
  std::string reason;  // one line with the numbers that the step used
  bool before = false;
  bool after = false;
  Cell from;      // the cell before the step; slices re-base indices
  Cell to;        // the same pair after the step
  int depth = 0;  // nesting depth inside heads: and batch:
};

struct Why {
  Cell source;  // the pair in the source mask
  bool source_open = false;
  std::vector<WhyStep> steps;  // heads: or batch: comes before the steps inside it
  Cell cell;                   // the pair after all steps, as the caller gave it
  bool open = false;
  /// The step that gave the pair its final state; absent if no step changed its state in the
  /// source.
  std::optional<std::size_t> decided_by;
};

/// Returns the text of a step; pipeline/bind.h provides such a function.
using StepName = std::function<std::string(const Step& step)>;

/// Explains a cell of the mask after all steps, tracing it back to the source. No mask is computed:
/// each rule is evaluated for this one pair. Throws Error(kInvalidArgument) for a cell outside the
/// mask, and whatever apply() throws for a step that does not fit.
Why why(const Mask& source, const Chain& chain, const Cell& cell, const StepName& name);

/// The index of the last step that opened or closed the pair; absent if none did.
std::optional<std::size_t> deciding_step(const std::vector<WhyStep>& steps);
/// Whether the cell is open. Throws Error(kInvalidArgument) for a cell outside the mask.
bool is_open(const Mask& mask, const Cell& cell);

}  // namespace maskctl
