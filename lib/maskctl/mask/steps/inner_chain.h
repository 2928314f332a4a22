// The chain that a step holds, applied to what the step makes of a mask; private to mask.
#pragma once

#include <functional>
#include <string_view>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::step {

/// Applies the chain of a step. Throws Error(kInvalidArgument), in the name of the step, for a
/// chain that changes the shape.
Mask apply_inner(const Chain& chain, const Mask& mask, std::string_view step);

/// Applies the chain of a step to n x n tokens that stand for the cells of a mask: `placed` makes
/// of such a mask one of the shape of `mask`. A cell becomes what the chain makes of its place, if
/// that is open, or closed, as the cell is.
Mask apply_to_tokens(const Chain& chain, const Mask& mask, Index n, std::string_view step,
                     const std::function<Mask(const Mask&)>& placed);

}  // namespace maskctl::step
