// One call of softmax attention, checked, as kernels take it.
#pragma once

#include <optional>

#include "maskctl/attention/context.h"
#include "maskctl/attention/softmax/dims.h"
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

struct SoftmaxProblem {
  Dims d;
  TensorView query;                       // [B,Tq,Hq,D]
  TensorView key, value;                  // [B,Tk,Hkv,D], [B,Tk,Hkv,Dv]
  Mask mask;                              // [B or 1, 1 or Hq, Tq, Tk]
  const BlockMap* block_map = nullptr;    // a plane of the mask, compiled for kernels
  std::optional<TensorView> bias, sinks;  // in the forms that SoftmaxInputs lists
  double scale = 1;
  SoftmaxOptions options;  // all but its scale and context
};

struct SoftmaxOutputs {
  MutableTensorView out;  // [B,Tq,Hq,Dv] in the dtype of the query
  MutableTensorView lse;  // [B,Hq,Tq] f32
};

/// What the backward pass reads beside the problem.
struct SoftmaxBackwardInputs {
  TensorView out, lse;              // what the forward pass gave
  TensorView d_out;                 // [B,Tq,Hq,Dv], of any float dtype
  std::optional<TensorView> d_lse;  // [B,Hq,Tq]
};

/// In the shapes and dtypes of the inputs.
struct SoftmaxGradientOutputs {
  MutableTensorView query, key, value;
  std::optional<MutableTensorView> bias, sinks;  // where the problem has them
};

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
