// Endpoints of the keys of each query, as cuDNN's flex attention takes them.
#pragma once

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The mask of endpoints [H,N,B*Q] of integers, N odd: with F_i = ends[h, i, b*Q + q], query q sees
/// the keys [0, F_0), [F_1, F_2), [F_3, F_4), ... of its batch entry.
/// Source: cuDNN frontend, documentation of cudnn.flex_attention ("Flex Attention Mask Plan
/// Design", section 2: mask_func), experimental; its kernels were not read, so that nothing is said
/// here of what they make of intervals that overlap or do not ascend: here they are joined. Throws
/// Error(kShape) for other axes, Error(kFormat) for an endpoint out of range, Error(kLimit) when
/// the runs of the keys take more than max_bytes.
Mask mask_from_intervals(const Tensor& ends, Index batch, Index queries, Index keys,
                         Index max_bytes);

/// The endpoints of a mask, int32, with as few intervals as hold all rows; rows of fewer end with
/// empty ones. Throws Error(kLimit) when they take more than max_bytes.
Tensor intervals_from_mask(const Mask& mask, Index max_bytes);

}  // namespace maskctl
