// What each rule says about one pair, with the numbers it used.
#pragma once

#include <string>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/step.h"

namespace maskctl {

/// Extents of the mask that a step is applied to.
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

/// The step applied to one pair that is open or closed before it. `cell` counts in the mask before
/// the step. The step must fit the shape (apply() has checked it). Scopes are followed by why().
Verdict judge(const Step& step, const PairShape& shape, const Cell& cell, bool before);

/// Where the cell `to` of the mask after the step was before it.
Cell cell_before(const Step& step, const PairShape& shape, const Cell& to);

}  // namespace maskctl
