// Reasons that lie in a mask as a whole, not in one of its planes; private to inspect.
#pragma once

#include "maskctl/inspect/diff.h"
#include "maskctl/inspect/diff_words.h"

namespace maskctl {

/// The other polarity, queries and keys swapped, heads or batches in another order or merged.
MaybeReason whole_reason(const Mask& a, const Mask& b, const MaskDiff& found);

/// B as A moved along an axis, what comes in being closed: for masks that no rule gives.
MaybeReason shift_reason(const PlanePtr& a, const PlanePtr& b);

}  // namespace maskctl
