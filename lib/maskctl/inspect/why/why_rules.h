// What each rule says about one pair, with the numbers that it uses.
#pragma once

#include <string>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The extents of the mask to which a step is applied.
struct PairShape {
  Index batch = 0, heads = 0, queries = 0, keys = 0;
};
inline PairShape pair_shape(const Mask& mask) {
  return {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
}

/// `after`: whether the pair is open after the step.
struct Verdict {
  bool after = false;
  std::string reason;
};

/// Applies the step to one pair that is open or closed before it. `cell` is a cell of the mask
/// before the step. The step must fit the shape, which apply() checks. Scopes are handled by why().
Verdict judge(const Step& step, const PairShape& shape, const Cell& cell, bool before);

/// The cell that was at `to` before the step; `to` is a cell of the mask after it.
Cell cell_before(const Step& step, const PairShape& shape, const Cell& to);

}  // namespace maskctl
