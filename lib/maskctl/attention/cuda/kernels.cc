#include "maskctl/attention/cuda/kernels.h"

#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/in_place.h"
#include "maskctl/attention/cuda/matrix/matrix_product.h"
#include "maskctl/attention/cuda/mla/mla.h"
#include "maskctl/attention/cuda/paged/paged.h"
#include "maskctl/attention/cuda/paged/update.h"
#include "maskctl/attention/cuda/ring/ring.h"
#include "maskctl/attention/cuda/softmax/from_host.h"
#include "maskctl/attention/cuda/softmax/softmax.h"

namespace maskctl::attention::cuda {

constexpr InPlaceKernels kInPlaceKernels{InPlace<softmax_forward>::row(),
                                         InPlace<softmax_backward>::row(),
                                         InPlace<softmax_weights>::row(),
                                         InPlace<paged>::row(),
                                         InPlace<paged>::row<PagedArraysProblem>(),
                                         InPlace<update_cache>::row(),
                                         InPlace<update_cache>::row<PagedArraysProblem>(),
                                         InPlace<blocks_forward>::row(),
                                         InPlace<blocks_backward>::row(),
                                         InPlace<select_blocks>::row()};

std::shared_ptr<Workspace> make_workspace(Stream stream) {
  return std::make_shared<Workspace>(stream);
}

constexpr Kernels kKernels{
    .softmax_forward = {[](const SoftmaxProblem& problem, const SoftmaxOutputs& outputs,
                           const Context&) { softmax_forward_from_host(problem, outputs); }},
    .softmax_backward = {[](const SoftmaxProblem& problem, const SoftmaxBackwardInputs& inputs,
                            const SoftmaxGradientOutputs& gradients, const Context&) {
      softmax_backward_from_host(problem, inputs, gradients);
    }},
    .softmax_weights = {FromHost<softmax_weights>::run},
    .ring_forward = {FromHost<ring_forward>::run, ring_unsupported},
    .ring_backward = {FromHost<ring_backward>::run, ring_unsupported},
    .mla_forward = {FromHost<mla_forward>::run},
    .mla_backward = {FromHost<mla_backward>::run},
    .paged = {FromHost<paged>::run, paged_unsupported},
    .blocks_forward = {FromHost<blocks_forward>::run},
    .blocks_backward = {FromHost<blocks_backward>::run},
    .select_blocks = {FromHost<select_blocks>::run},
    .matrix_product = {matrix_product_from_host},
};

std::string tensor_cores() {
  if (!unavailable().empty()) return "";
  const std::string reason = hopper::unavailable();
  if (!reason.empty()) return "not used: " + reason;
  return "softmax attention, decoding over pages, linear attention, listed blocks and "
         "grouped products of float16 and bfloat16, rows of 8, 16, 24 .. elements: at most 256, "
         "128 of linear attention, 64 or 128 of listed blocks, any of grouped products";
}

}  // namespace maskctl::attention::cuda
