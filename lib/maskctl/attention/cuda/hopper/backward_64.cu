#include "maskctl/attention/cuda/hopper/backward.cuh"

namespace maskctl::attention::cuda::hopper {

void launch_64(const BackwardCall& call, Stream stream) { launch_kernel<64>(call, stream); }

}  // namespace maskctl::attention::cuda::hopper
