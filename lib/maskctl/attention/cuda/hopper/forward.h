// Softmax attention on the tensor cores of Hopper GPUs: 16-bit arrays, up to 256 dimensions, any
// mask.
#pragma once

#include <string>

#include "maskctl/attention/cuda/hopper/schedule.h"
#include "maskctl/attention/cuda/softmax/params.h"

namespace maskctl::attention::cuda::hopper {

/// Why no call can run here, as in "the GPU is sm_80, not sm_90"; empty when calls can.
std::string unavailable();

/// Why this kernel cannot take a call whose arrays are on the GPU, as in "256 is the largest head
/// dimension"; empty when it can.
std::string unsupported_forward(const SoftmaxParams& p);

/// The schedule of a mask for calls of such dimensions and dtype; empty where these kernels take no
/// such call.
Schedule forward_schedule(const MaskView& by_query, const Dims& d, DType dtype, Stream stream);

/// `means` and the results: see launch_forward in softmax/kernels.h.
void forward(Workspace& workspace, const SoftmaxParams& p, const Schedule& schedule,
             const float* means, AnyResult out, float* lse);

}  // namespace maskctl::attention::cuda::hopper
