// Finds chains of tokens that are the cells of a grid: one rule for each axis, or tokens in tiles
// or along a curve; private to inspect.
#pragma once

#include <functional>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// Chains `grid:shape=...{...}` that may give the plane. Tokens at both ends that see all and are
/// seen by all are in no grid. `recognise` names what one axis shows; it gives nothing for what
/// takes arrays. Empty for planes that are large, or whose first and middle rows fit no grid.
std::vector<Chain> chains_in_grids(const PlanePtr& plane,
                                   const std::function<Chain(const PlanePtr&)>& recognise);

}  // namespace maskctl::recognition
