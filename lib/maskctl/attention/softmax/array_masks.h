// Masks that a call holds as arrays, or lazily, for the heads of its queries.
#pragma once

#include "maskctl/attention/softmax/mask_arguments.h"

namespace maskctl::attention {

/// The mask itself, or one for each query head where it has one for each key head. `what` names it.
/// Throws Error(kShape) for extents that do not fit.
Mask fit(const Mask& mask, const MaskExtents& extents, const char* what);

// Masks of the arguments with these names. Throw Error(kShape, kInvalidArgument) naming them.
Mask array_mask(const Tensor& attention_mask, const MaskExtents& extents);
Mask block_mask(const Tensor& block_mask, Index block_size, const MaskExtents& extents);

}  // namespace maskctl::attention
