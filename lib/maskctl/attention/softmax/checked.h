// Softmax attention of a call that is checked already, and its checks.
#pragma once

#include "maskctl/attention/problems/softmax_problem.h"
#include "maskctl/attention/softmax/softmax.h"

namespace maskctl::attention {

/// Throws what softmax_forward documents.
Dims checked_dims(const SoftmaxInputs& inputs, const SoftmaxOptions& options);

/// Throws Error(kShape) unless the arrays of a backward pass have the shapes of the forward pass.
void check_backward(const Dims& dims, const SoftmaxResult& forward, const Tensor& d_out,
                    const Tensor* d_lse);
/// Room for a result, not written yet.
SoftmaxResult unwritten_result(const Dims& dims, DType dtype);

/// Throws unless the bias is of floats and each of its axes is 1 or that of [B,Hq,Tq,Tk].
void check_bias(const Tensor& bias, const Dims& dims);

/// Throws unless sinks are floats [n], [Hq, n] or [Hkv, n].
void check_sinks(const TensorView& sinks, const Dims& dims);

/// The problem of arrays that checked_dims has accepted.
SoftmaxProblem softmax_problem(const SoftmaxInputs& inputs, const SoftmaxOptions& options,
                               const Dims& dims, Mask mask);

/// Throws what softmax_forward documents.
SoftmaxProblem checked_softmax(const SoftmaxInputs& inputs, const SoftmaxOptions& options);

// The operations of softmax.h on a call that is checked already; the backward pass still checks
// `forward`, d_out and d_lse.
SoftmaxResult softmax_forward(const SoftmaxProblem& problem, const Context& context);
SoftmaxGradients softmax_backward(const SoftmaxProblem& problem, const SoftmaxResult& forward,
                                  const Tensor& d_out, const Tensor* d_lse, const Context& context);
Tensor softmax_weights(const SoftmaxProblem& problem, const Context& context);

}  // namespace maskctl::attention
