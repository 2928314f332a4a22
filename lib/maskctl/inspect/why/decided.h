// Which step decided each cell: the one that opened or closed it last.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

struct DecidedCells {
  Mask mask;  // after all steps
  /// For each step, the cells of `mask` whose state it changed last. Cells in none are as they were
  /// in the source. Absent for steps before one that both moves and closes cells: not known.
  std::vector<std::optional<Mask>> by;
};

/// Follows all cells through the chain as why() follows one; a step with a chain inside it counts
/// as one. Throws what apply() throws.
DecidedCells decided_cells(const Mask& source, const Chain& chain);

}  // namespace maskctl
