// Whether the current GPU can run kernels for Hopper GPUs.
#pragma once

#include <string>

namespace maskctl::attention::cuda::hopper {

/// Why kernels for Hopper GPUs cannot run, such as "the GPU is sm_80, not sm_90"; empty when they
/// can.
std::string unavailable();

}  // namespace maskctl::attention::cuda::hopper
