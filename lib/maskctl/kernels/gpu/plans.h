// Operations without a mask on arrays that are on the GPU (attention/gpu/plan.h).
#pragma once

#include "maskctl/attention/gpu/plan.h"
#include "maskctl/attention/problems/grouped_problem.h"
#include "maskctl/kernels/problems/linear_problem.h"
#include "maskctl/kernels/problems/pooling_problem.h"

namespace maskctl::attention::gpu {

/// Linear attention: recurrent, gla and lightning (see linear_problem.h).
using LinearForward = Plan<LinearProblem, LinearOutputs>;
using LinearBackward = Plan<LinearProblem, LinearBackwardInputs, LinearGradientOutputs>;
/// The grouped product, with result [m,n], and the gradients of its two factors from d_out [m,n]
/// (see grouped_problem.h).
using GroupedForward = Plan<GroupedProblem, MutableTensorView>;
using GroupedBackward = Plan<GroupedProblem, TensorView, GroupedGradientOutputs>;
/// The means of segments of tokens; the result has the shape PoolingProblem::out_shape.
using MeanPooling = Plan<PoolingProblem, MutableTensorView>;

}  // namespace maskctl::attention::gpu
