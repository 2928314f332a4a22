#include "maskctl/attention/cuda/kernels.h"

#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/grouped/grouped_product.h"
#include "maskctl/attention/cuda/hopper/forward.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/linear/linear.h"
#include "maskctl/attention/cuda/matrix/matrix_product.h"
#include "maskctl/attention/cuda/paged/paged.h"
#include "maskctl/attention/cuda/pooling/mean_pooling.h"
#include "maskctl/attention/cuda/ring/ring.h"
#include "maskctl/attention/cuda/softmax/softmax.h"

namespace maskctl::attention::cuda {

constexpr Kernels kKernels{
    .softmax_forward = {FromHost<softmax_forward>::run},
    .softmax_backward = {FromHost<softmax_backward>::run},
    .softmax_weights = {FromHost<softmax_weights>::run},
    .ring_forward = {FromHost<ring_forward>::run, ring_unsupported},
    .ring_backward = {FromHost<ring_backward>::run, ring_unsupported},
    .paged = {FromHost<paged>::run, paged_unsupported},
    .blocks_forward = {FromHost<blocks_forward>::run},
    .blocks_backward = {FromHost<blocks_backward>::run},
    .select_blocks = {FromHost<select_blocks>::run},
    .linear_forward = {FromHost<linear_forward>::run},
    .linear_backward = {FromHost<linear_backward>::run},
    .grouped_forward = {FromHost<grouped_forward>::run},
    .grouped_backward = {FromHost<grouped_backward>::run},
    .mean_pooling = {FromHost<mean_pooling>::run},
    .matrix_product = {matrix_product_from_host},
};

std::string tensor_cores() {
  if (!unavailable().empty()) return "";
  const std::string reason = hopper::unavailable();
  if (!reason.empty()) return "not used: " + reason;
  return "softmax attention of float16 and bfloat16, rows of 8, 16, 24 .. 256 elements";
}

}  // namespace maskctl::attention::cuda
