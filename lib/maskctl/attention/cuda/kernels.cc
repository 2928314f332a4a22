#include "maskctl/attention/cuda/kernels.h"

#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/grouped/grouped_product.h"
#include "maskctl/attention/cuda/host_door.h"
#include "maskctl/attention/cuda/pooling/mean_pooling.h"

namespace maskctl::attention::cuda {

constexpr Kernels kKernels{
    .blocks_forward = {FromHost<blocks_forward>::run},
    .blocks_backward = {FromHost<blocks_backward>::run},
    .select_blocks = {FromHost<select_blocks>::run},
    .grouped_forward = {FromHost<grouped_forward>::run},
    .grouped_backward = {FromHost<grouped_backward>::run},
    .mean_pooling = {FromHost<mean_pooling>::run},
};

}  // namespace maskctl::attention::cuda
