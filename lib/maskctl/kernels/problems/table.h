// The kernels without a mask that a backend can have: one for each kind of problem.
#pragma once

#include "maskctl/attention/problems/backends.h"
#include "maskctl/attention/problems/grouped_problem.h"
#include "maskctl/kernels/problems/convolution_problem.h"
#include "maskctl/kernels/problems/delta_problem.h"
#include "maskctl/kernels/problems/linear_problem.h"
#include "maskctl/kernels/problems/pooling_problem.h"

namespace maskctl::attention {

/// As Kernels (attention/problems/kernels.h), for operations that have no mask.
struct MasklessKernels {
  Kernel<LinearProblem, LinearOutputs> linear_forward = {};
  Kernel<LinearProblem, LinearBackwardInputs, LinearGradientOutputs> linear_backward = {};
  Kernel<DeltaProblem, LinearOutputs> delta_forward = {};
  Kernel<DeltaProblem, LinearBackwardInputs, DeltaGradientOutputs> delta_backward = {};
  Kernel<ConvolutionProblem, ConvolutionOutputs> convolution_forward = {};
  Kernel<ConvolutionProblem, ConvolutionBackwardInputs, ConvolutionGradientOutputs>
      convolution_backward = {};
  /// The output is [m,n].
  Kernel<GroupedProblem, MutableTensorView> grouped_forward = {};
  /// Inputs: d_out [m,n]. Outputs: the gradients of lhs and rhs.
  Kernel<GroupedProblem, TensorView, GroupedGradientOutputs> grouped_backward = {};
  Kernel<PoolingProblem, MutableTensorView> mean_pooling = {};
};

template <>
const MasklessKernels& kernels_of<MasklessKernels>(const BackendRow& row);

}  // namespace maskctl::attention
