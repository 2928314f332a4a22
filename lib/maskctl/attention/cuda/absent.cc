// What stands for the kernels in a build without them.
#include "maskctl/attention/cuda/kernels.h"

namespace maskctl::attention::cuda {

constexpr Kernels kKernels{};

std::string unavailable() { return "this build has no CUDA kernels"; }
int gpus() { return 0; }
void use_gpu(int) {}
std::string tensor_cores() { return ""; }

}  // namespace maskctl::attention::cuda
