#include "maskctl/attention/cuda/hopper/gpu.h"

#include "maskctl/attention/cuda/gpus.h"

namespace maskctl::attention::cuda::hopper {

std::string unavailable() {
  const GpuProperties& gpu = properties_in_use();
  if (gpu.major == 9) return "";
  return "the GPU is sm_" + std::to_string(10 * gpu.major + gpu.minor) + ", not sm_90";
}

}  // namespace maskctl::attention::cuda::hopper
