// The kernels without a mask for NVIDIA GPUs (attention/cuda/kernels.h).
#pragma once

#include <tuple>

#include "maskctl/attention/cuda/kernels.h"
#include "maskctl/kernels/problems/table.h"

namespace maskctl::attention::cuda {

/// The kernels for arrays on the host.
extern const MasklessKernels kMasklessKernels;

using MasklessInPlaceKernels =
    std::tuple<InPlaceKernel<LinearProblem, LinearOutputs>,
               InPlaceKernel<LinearProblem, LinearBackwardInputs, LinearGradientOutputs>,
               InPlaceKernel<GroupedProblem, MutableTensorView>,
               InPlaceKernel<GroupedProblem, TensorView, GroupedGradientOutputs>,
               InPlaceKernel<PoolingProblem, MutableTensorView>>;
extern const MasklessInPlaceKernels kMasklessInPlaceKernels;

}  // namespace maskctl::attention::cuda
