// Functions that launch the plain kernels of softmax attention: f32 tiles, any dtype.
#pragma once

#include "maskctl/attention/cuda/elements.h"
#include "maskctl/attention/cuda/softmax/params.h"

namespace maskctl::attention::cuda {

/// Launches the forward kernel. `means` [B,Hkv,Dv]: the result of rows without a key, if the policy
/// is kMean.
void launch_forward(const SoftmaxParams& p, const float* means, AnyResult out, float* lse,
                    Stream stream);
void launch_weights(const SoftmaxParams& p, float* out, Stream stream);
void launch_value_means(const SoftmaxParams& p, float* means, Stream stream);

void launch_delta(const BackwardParams& b, float* delta, Stream stream);
void launch_query_gradient(const BackwardParams& b, AnyResult d_query, Stream stream);
/// Launches the kernel for d_key and d_value. Adds `mean_shares` [B,Hkv,Dv], if not null, to
/// d_value of every key.
void launch_key_gradients(const BackwardParams& b, const float* mean_shares, AnyResult d_key,
                          AnyResult d_value, Stream stream);
/// Computes what rows without a key add to the d_value of every key, [B,Hkv,Dv], if the policy for
/// such rows is kMean.
void launch_mean_shares(const BackwardParams& b, float* mean_shares, Stream stream);
void launch_sink_gradient(const BackwardParams& b, AnyResult d_sinks, Index rows, Stream stream);
/// Launches the kernels for the gradient of the bias, whose four extents are `shape`.
void launch_bias_gradient(Workspace& workspace, const BackwardParams& b, const Index (&shape)[4],
                          AnyResult d_bias);

}  // namespace maskctl::attention::cuda
