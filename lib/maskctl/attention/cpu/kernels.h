// All kernels in f32 on all threads, with vectors of the best available instruction set.
#pragma once

#include "maskctl/attention/problems/kernels.h"

namespace maskctl::attention::cpu {

void softmax_forward(const SoftmaxProblem&, const SoftmaxOutputs&, const Context&);
void softmax_backward(const SoftmaxProblem&, const SoftmaxBackwardInputs&,
                      const SoftmaxGradientOutputs&, const Context&);
void softmax_weights(const SoftmaxProblem&, const MutableTensorView& weights, const Context&);
void paged(const PagedProblem&, const MutableTensorView& out, const Context&);
void blocks_forward(const BlockProblem&, const SoftmaxOutputs&, const Context&);
void blocks_backward(const BlockProblem&, const SoftmaxBackwardInputs&,
                     const SoftmaxGradientOutputs&, const Context&);
void select_blocks(const SelectionProblem&, const MutableTensorView& selected, const Context&);
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
void matrix_product(const MatrixProblem&, const MutableTensorView& out, const Context&);

inline constexpr Kernels kKernels{
    .softmax_forward = {softmax_forward},
    .softmax_backward = {softmax_backward},
    .softmax_weights = {softmax_weights},
    .paged = {paged},
    .blocks_forward = {blocks_forward},
    .blocks_backward = {blocks_backward},
    .select_blocks = {select_blocks},
    .linear_forward = {linear_forward},
    .linear_backward = {linear_backward},
    .delta_forward = {delta_forward},
    .delta_backward = {delta_backward},
    .convolution_forward = {convolution_forward},
    .convolution_backward = {convolution_backward},
    .grouped_forward = {grouped_forward},
    .grouped_backward = {grouped_backward},
    .mean_pooling = {mean_pooling},
    .matrix_product = {matrix_product},
};

}  // namespace maskctl::attention::cpu
