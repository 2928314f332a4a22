#include "maskctl/attention/cuda/hopper/backward.cuh"

template void maskctl::attention::cuda::hopper::launch_width<128>(const BackwardCall&, Stream);
