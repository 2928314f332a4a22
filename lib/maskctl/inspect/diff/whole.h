// Reasons that concern a mask as a whole, not one of its planes; private to inspect.
#pragma once

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/diff/words.h"

namespace maskctl {

/// Inverted polarity, swapped queries and keys, heads or batches permuted or merged.
MaybeReason whole_reason(const Mask& a, const Mask& b, const MaskDiff& found);

/// B is A moved along an axis, with closed cells coming in; for masks that no rule gives.
MaybeReason shift_reason(const PlanePtr& a, const PlanePtr& b);

}  // namespace maskctl
