// The gradients of query, key and value on Hopper GPUs.
#pragma once

#include "maskctl/attention/cuda/softmax/hopper/key_order.h"
#include "maskctl/attention/cuda/softmax/params.h"

namespace maskctl::attention::cuda::hopper {

/// Why this kernel cannot compute a call on a Hopper GPU, for example "arrays have several dtypes";
/// empty when it can.
std::string unsupported_backward(const BackwardParams& b);

/// Writes delta [B,Hq,Tq] (b.delta is not read), and contiguous d_query, d_key and d_value in the
/// dtype of the query. `mean_shares`: see launch_key_gradients. If not `deterministic`, blocks add
/// to d_query in any order, and equal calls may differ in its last bits.
void backward(Workspace& workspace, const BackwardParams& b, const KeyOrder& order,
              bool deterministic, float* delta, const float* mean_shares, void* d_query,
              void* d_key, void* d_value);

}  // namespace maskctl::attention::cuda::hopper
