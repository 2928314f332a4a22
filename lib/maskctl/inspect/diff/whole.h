// Reasons that concern a mask as a whole, not one of its planes; private to inspect.
#pragma once

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/mask/steps/change.h"

namespace maskctl {

/// Words for a mask B that is A inverted, transposed, or with heads or batches permuted or merged.
MaybeReason whole_reason(const Mask& a, const Mask& b, const MaskDiff& found);

/// Words for a B that is A moved along an axis, with closed cells coming in; for masks that no rule
/// explains.
MaybeReason shift_reason(const PlanePtr& a, const PlanePtr& b);

}  // namespace maskctl
