// Converts masks that a call gives as arrays, and fits masks to the query heads of the call.
#pragma once

#include "maskctl/attention/softmax/mask_arguments.h"

namespace maskctl::attention {

/// The mask with its heads expanded: a mask with one plane per key head gets one per query head.
/// Throws Error(kShape) that contains `what` if the extents do not fit.
Mask fit(const Mask& mask, const MaskExtents& extents, const char* what);

// The masks of the arguments attention_mask and block_mask. Throw Error(kShape, kInvalidArgument)
// with the name of the argument.
Mask array_mask(const Tensor& attention_mask, const MaskExtents& extents);
Mask block_mask(const Tensor& block_mask, Index block_size, const MaskExtents& extents);

}  // namespace maskctl::attention
