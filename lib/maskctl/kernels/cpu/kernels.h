// The kernels without a mask in f32 on all threads.
#pragma once

#include "maskctl/kernels/problems/table.h"

namespace maskctl::attention::cpu {

void linear_forward(const LinearProblem&, const LinearOutputs&, const Context&);
void linear_backward(const LinearProblem&, const LinearBackwardInputs&,
                     const LinearGradientOutputs&, const Context&);
void delta_forward(const DeltaProblem&, const LinearOutputs&, const Context&);
void delta_backward(const DeltaProblem&, const LinearBackwardInputs&, const DeltaGradientOutputs&,
                    const Context&);
void convolution_forward(const ConvolutionProblem&, const ConvolutionOutputs&, const Context&);
void convolution_backward(const ConvolutionProblem&, const ConvolutionBackwardInputs&,
                          const ConvolutionGradientOutputs&, const Context&);
void grouped_forward(const GroupedProblem&, const MutableTensorView& out, const Context&);
void grouped_backward(const GroupedProblem&, const TensorView& d_out, const GroupedGradientOutputs&,
                      const Context&);
void mean_pooling(const PoolingProblem&, const MutableTensorView& out, const Context&);

inline constexpr MasklessKernels kMasklessKernels{
    .linear_forward = {linear_forward},
    .linear_backward = {linear_backward},
    .delta_forward = {delta_forward},
    .delta_backward = {delta_backward},
    .convolution_forward = {convolution_forward},
    .convolution_backward = {convolution_backward},
    .grouped_forward = {grouped_forward},
    .grouped_backward = {grouped_backward},
    .mean_pooling = {mean_pooling},
};

}  // namespace maskctl::attention::cpu
