// All kernels in float64 and plain loops, against which the other backends are compared.
#pragma once

#include <limits>

#include "maskctl/attention/problems/kernels.h"

namespace maskctl::attention::reference {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

void softmax_forward(const SoftmaxProblem&, const SoftmaxOutputs&, const Context&);
void softmax_backward(const SoftmaxProblem&, const SoftmaxBackwardInputs&,
                      const SoftmaxGradientOutputs&, const Context&);
void softmax_weights(const SoftmaxProblem&, const MutableTensorView& weights, const Context&);
void paged(const PagedProblem&, const MutableTensorView& out, const Context&);
void blocks_forward(const BlockProblem&, const SoftmaxOutputs&, const Context&);
void blocks_backward(const BlockProblem&, const SoftmaxBackwardInputs&,
                     const SoftmaxGradientOutputs&, const Context&);
void select_blocks(const SelectionProblem&, const MutableTensorView& selected, const Context&);
void matrix_product(const MatrixProblem&, const MutableTensorView& out, const Context&);

inline constexpr Kernels kKernels{
    .softmax_forward = {softmax_forward},
    .softmax_backward = {softmax_backward},
    .softmax_weights = {softmax_weights},
    .paged = {paged},
    .blocks_forward = {blocks_forward},
    .blocks_backward = {blocks_backward},
    .select_blocks = {select_blocks},
    .matrix_product = {matrix_product},
};

}  // namespace maskctl::attention::reference
