#include "maskctl/attention/cuda/kernels.h"

#include "maskctl/attention/cuda/host_door.h"
#include "maskctl/attention/cuda/matrix/matrix_product.h"
#include "maskctl/attention/cuda/paged/paged.h"
#include "maskctl/attention/cuda/pooling/mean_pooling.h"

namespace maskctl::attention::cuda {

constexpr Kernels kKernels{
    .paged = {FromHost<paged>::run, paged_unsupported},
    .mean_pooling = {FromHost<mean_pooling>::run},
    .matrix_product = {matrix_product_from_host},
};

}  // namespace maskctl::attention::cuda
