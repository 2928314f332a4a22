// FlashMask's limits of rows for each key (startend_row_indices), and the mask that they mean.
#pragma once

#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The mask of limits [B,H,K,N] of integers: key k is closed for queries from a limit on, up to
/// another. H is 1 or the number of key heads. With N = 1, the queries from l[0] on; with 2 and
/// `causal`, l[0] to l[1] - 1; with 2, the queries from l[0] on and those before l[1]; with 4, l[0]
/// to l[1] - 1 and l[2] to l[3] - 1. `causal` closes the queries before k as well, and has N = 1 or
/// 2; otherwise N is 2 or 4. Limits past the queries are as good as their number.
/// Source: PaddlePaddle, paddle.nn.functional.flashmask_attention and the reference
/// flashmask_to_densemask of its tests, which is square; causal masks that are not were not found
/// there, and are refused.
/// Throws Error(kShape) for other axes, Error(kFormat) for a limit below 0, and Error(kLimit) when
/// the runs of open queries take more than max_bytes.
Mask mask_from_flashmask(const Tensor& limits, bool causal, Index queries, Index max_bytes);

/// The limits that come nearest to a mask, as `q`, with the fewest columns that hold them. Exact
/// where the queries that do not see a key are at most two ranges (`causal`: where no query sees a
/// later key, one range after the key). Of more ranges, the longest stay closed. Throws
/// Error(kShape) for a causal mask that is not square, Error(kLimit) as mask_from_flashmask().
Nearest nearest_flashmask(const Mask& mask, bool causal, Index max_bytes);

}  // namespace maskctl
