#include "maskctl/attention/cuda/kernels.h"

#include "maskctl/attention/cuda/host_door.h"
#include "maskctl/attention/cuda/pooling/mean_pooling.h"

namespace maskctl::attention::cuda {

constexpr Kernels kKernels{
    .mean_pooling = {FromHost<mean_pooling>::run},
};

}  // namespace maskctl::attention::cuda
