#include "maskctl/attention/cuda/hopper/backward.cuh"

template void maskctl::attention::cuda::hopper::launch_width<256>(const BackwardCall&, Stream);
