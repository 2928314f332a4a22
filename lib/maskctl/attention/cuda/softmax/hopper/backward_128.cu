// Backward kernels for heads of up to 128 dimensions. They are in a file of their own because they
// take long to compile.
#include "maskctl/attention/cuda/softmax/hopper/backward.cuh"

namespace maskctl::attention::cuda::hopper {

void launch_128(const BackwardCall& call, int blocks, Stream stream) {
  launch_kernel<128, false>(call, blocks, stream);
}

}  // namespace maskctl::attention::cuda::hopper
