#include "maskctl/attention/cuda/kernels.h"

#include "maskctl/attention/cuda/host_door.h"
#include "maskctl/attention/cuda/linear/linear.h"
#include "maskctl/attention/cuda/pooling/mean_pooling.h"

namespace maskctl::attention::cuda {

constexpr Kernels kKernels{
    .linear_forward = {FromHost<linear_forward>::run},
    .linear_backward = {FromHost<linear_backward>::run},
    .mean_pooling = {FromHost<mean_pooling>::run},
};

}  // namespace maskctl::attention::cuda
