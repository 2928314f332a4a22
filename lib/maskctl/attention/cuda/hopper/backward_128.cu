// The backward kernels for heads of up to 128 dimensions: a file of their own, since they compile
// long.
#include "maskctl/attention/cuda/hopper/backward.cuh"

namespace maskctl::attention::cuda::hopper {

void launch_128(const BackwardCall& call, Stream stream) { launch_kernel<128>(call, stream); }

}  // namespace maskctl::attention::cuda::hopper
