// What stands for the kernels in a build without them.
#include "maskctl/attention/cuda/kernels.h"

namespace maskctl::attention::cuda {

constexpr Kernels kKernels{};

std::string unavailable() { return "this build has no CUDA kernels"; }

}  // namespace maskctl::attention::cuda
