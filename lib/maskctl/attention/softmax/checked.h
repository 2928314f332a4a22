// Checks of softmax attention calls, and the problem of a call that has passed them.
#pragma once

#include "maskctl/attention/problems/softmax_problem.h"
#include "maskctl/attention/softmax/softmax_arrays.h"

namespace maskctl::attention {

/// The extents of a call. Throws the errors that softmax_forward documents.
Dims checked_dims(const SoftmaxInputs& inputs, const SoftmaxOptions& options);

/// Throws Error(kShape) unless out, lse, d_out and d_lse have the shapes that belong to `dims`.
void check_backward(const Dims& dims, const SoftmaxResult& forward, const Tensor& d_out,
                    const Tensor* d_lse);
/// An uninitialized result.
SoftmaxResult unwritten_result(const Dims& dims, DType dtype);

/// Throws unless the bias is [B,Hq,Tq,Tk] of floats, where any extent may be 1.
void check_bias(const TensorView& bias, const Dims& dims);
/// Throws unless the mask is [B or 1, 1 or Hq, Tq, Tk].
void check_mask(const Mask& mask, const Dims& dims);
/// Throws unless soft cap and dropout are in their ranges.
void check_settings(const SoftmaxSettings& settings);
/// check_settings(), and throws unless the scale is a finite number.
void check_options(const SoftmaxOptions& options);

/// Throws unless the sinks are floats of shape [n], [Hq, n] or [Hkv, n].
void check_sinks(const TensorView& sinks, const Dims& dims);

/// Makes the problem for kernels from arrays that checked_dims() has accepted.
SoftmaxProblem softmax_problem(const SoftmaxInputs& inputs, const SoftmaxOptions& options,
                               const Dims& dims, Mask mask);

/// Checks a call and makes its problem. Throws the errors that softmax_forward documents.
SoftmaxProblem checked_softmax(const SoftmaxInputs& inputs, const SoftmaxOptions& options);

}  // namespace maskctl::attention
