// The gradients of query, key and value on Hopper GPUs.
#pragma once

#include "maskctl/attention/cuda/hopper/key_order.h"
#include "maskctl/attention/cuda/softmax/kernels.h"

namespace maskctl::attention::cuda::hopper {

/// Why this kernel cannot take a call on such a GPU, as in "dtypes differ"; empty when it can.
std::string unsupported_backward(const BackwardParams& b);

/// Writes delta [B,Hq,Tq], which `b` need not have, and d_query, d_key and d_value, which have no
/// gaps and the dtype of the query. `mean_shares`: see launch_key_gradients. Calls that need not be
/// `deterministic` add to d_query in any order: equal calls may differ in its last bits.
void backward(Workspace& workspace, const BackwardParams& b, const KeyOrder& order,
              bool deterministic, float* delta, const float* mean_shares, void* d_query,
              void* d_key, void* d_value);

}  // namespace maskctl::attention::cuda::hopper
