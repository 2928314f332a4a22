#include "maskctl/kernels/cuda/kernels.h"

#include "maskctl/attention/cuda/grouped/grouped_product.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/in_place.h"
#include "maskctl/kernels/cuda/arrays.h"
#include "maskctl/kernels/cuda/linear/linear.h"
#include "maskctl/kernels/cuda/pooling/mean_pooling.h"

namespace maskctl::attention::cuda {

constexpr MasklessInPlaceKernels kMasklessInPlaceKernels{
    InPlace<linear_forward>::row(), InPlace<linear_backward>::row(),
    InPlace<grouped_forward>::row(), InPlace<grouped_backward>::row(),
    InPlace<mean_pooling>::row()};

constexpr MasklessKernels kMasklessKernels{
    .linear_forward = {FromHost<linear_forward>::run},
    .linear_backward = {FromHost<linear_backward>::run},
    .grouped_forward = {FromHost<grouped_forward>::run},
    .grouped_backward = {FromHost<grouped_backward>::run},
    .mean_pooling = {FromHost<mean_pooling>::run},
};

}  // namespace maskctl::attention::cuda
