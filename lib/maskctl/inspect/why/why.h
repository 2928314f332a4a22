// Why a query may or may not attend to a key: follows the pair through a chain of steps.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// What one step did to the pair.
struct WhyStep {
  std::string text;    // the step, spelled by `name`
  std::string reason;  // one line with the numbers that the step used
  bool before = false;
  bool after = false;
  Cell from;      // the cell before the step; slices re-base indices
  Cell to;        // the same pair after the step
  int depth = 0;  // nesting inside heads: and batch:
};

struct Why {
  Cell source;  // the pair in the source mask
  bool source_open = false;
  std::vector<WhyStep> steps;  // a scope precedes the steps inside it
  Cell cell;                   // the pair after all steps, as given
  bool open = false;
  /// The step that gave the pair its state; null when no step changed the state of the source.
  std::optional<std::size_t> decided_by;
};

/// Spells a step; pipeline/bind.h provides one.
using StepName = std::function<std::string(const Step& step)>;

/// `cell` is a cell of the mask after all steps; it is traced back to the source. No mask is
/// computed: each rule is evaluated for this one pair. Throws Error(kInvalidArgument) for a cell
/// outside the mask, and whatever apply() throws for a step that does not fit.
Why why(const Mask& source, const Chain& chain, const Cell& cell, const StepName& name);

/// The last step that changed the pair.
std::optional<std::size_t> deciding_step(const std::vector<WhyStep>& steps);
/// True when the cell is open. Throws Error(kInvalidArgument) for a cell outside the mask.
bool is_open(const Mask& mask, const Cell& cell);

}  // namespace maskctl
