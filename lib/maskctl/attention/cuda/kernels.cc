#include "maskctl/attention/cuda/kernels.h"

#include "maskctl/attention/cuda/host_door.h"
#include "maskctl/attention/cuda/pooling/mean_pooling.h"
#include "maskctl/attention/cuda/softmax/softmax.h"

namespace maskctl::attention::cuda {

constexpr Kernels kKernels{
    .softmax_forward = {FromHost<softmax_forward>::run},
    .softmax_backward = {FromHost<softmax_backward>::run},
    .softmax_weights = {FromHost<softmax_weights>::run},
    .mean_pooling = {FromHost<mean_pooling>::run},
};

}  // namespace maskctl::attention::cuda
