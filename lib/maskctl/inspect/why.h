// Why one query may, or may not, attend one key: the pair followed through a chain of steps.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/step.h"

namespace maskctl {

/// What one step did with the pair.
struct WhyStep {
  std::string text;    // the step as `name` spells it
  std::string reason;  // one line with the numbers that the step used
  bool before = false;
  bool after = false;
  Cell from;      // the cell in the mask before the step; slices re-base indices
  Cell to;        // the same pair after it
  int depth = 0;  // inside heads: and batch:
};

struct Why {
  Cell source;  // the pair in the source mask
  bool source_open = false;
  std::vector<WhyStep> steps;  // a scope comes before the steps inside it
  Cell cell;                   // the pair after all steps, as asked
  bool open = false;
  /// The step that gave the pair its state; nothing when the source did and no step changed it.
  std::optional<std::size_t> decided_by;
};

/// Spells a step; pipeline/bind.h has one.
using StepName = std::function<std::string(const Step& step)>;

/// `cell` counts in the mask after all steps; it is followed back to the source. No mask is
/// computed: each rule is asked about this one pair.
/// Throws Error(kInvalidArgument) for a cell outside, and what apply() throws for a step that does
/// not fit.
Why why(const Mask& source, const Chain& chain, const Cell& cell, const StepName& name);

/// The last step that changed the pair.
std::optional<std::size_t> deciding_step(const std::vector<WhyStep>& steps);
/// Whether the cell is open. Throws Error(kInvalidArgument) for one outside the mask.
bool is_open(const Mask& mask, const Cell& cell);

}  // namespace maskctl
