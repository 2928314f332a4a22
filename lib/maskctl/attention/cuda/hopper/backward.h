// The gradients of query, key and value on Hopper GPUs.
#pragma once

#include "maskctl/attention/cuda/softmax/kernels.h"

namespace maskctl::attention::cuda::hopper {

/// Why these kernels cannot take a call, as in "rows of 20 bytes are no multiple of 16"; empty when
/// they can. `d_query`, `d_key` and `d_value` are in the dtype of the query.
std::string unsupported_backward(const BackwardParams& b);

/// Writes d_query, d_key and d_value, which have no gaps; `mean_shares` as launch_key_gradients.
/// Where calls need not be `deterministic`, the sums of d_query are made in any order.
void launch_backward(Workspace& workspace, const BackwardParams& b, const float* mean_shares,
                     void* d_query, void* d_key, void* d_value, bool deterministic = true);

}  // namespace maskctl::attention::cuda::hopper
