#include "maskctl/attention/cuda/kernels.h"

#include "maskctl/attention/cuda/grouped/grouped_product.h"
#include "maskctl/attention/cuda/host_door.h"
#include "maskctl/attention/cuda/pooling/mean_pooling.h"

namespace maskctl::attention::cuda {

constexpr Kernels kKernels{
    .grouped_forward = {FromHost<grouped_forward>::run},
    .grouped_backward = {FromHost<grouped_backward>::run},
    .mean_pooling = {FromHost<mean_pooling>::run},
};

}  // namespace maskctl::attention::cuda
