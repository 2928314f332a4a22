// Softmax attention: the checked problem that kernels receive.
#pragma once

#include <optional>

#include "maskctl/attention/problems/dims.h"
#include "maskctl/attention/problems/softmax_options.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

struct SoftmaxProblem {
  Dims d;
  TensorView query;                     // [B,Tq,Hq,D]
  TensorView key, value;                // [B,Tk,Hkv,D], [B,Tk,Hkv,Dv]
  Mask mask;                            // [B or 1, 1 or Hq, Tq, Tk]
  const BlockMap* block_map = nullptr;  // a plane of the mask, compiled for kernels
  std::optional<TensorView> bias;       // [B or 1, Hq or 1, Tq or 1, Tk or 1]
  std::optional<TensorView> sinks;      // [n], [Hq,n] or [Hkv,n]
  double scale = 1;
  SoftmaxSettings options;
};

struct SoftmaxOutputs {
  MutableTensorView out;  // [B,Tq,Hq,Dv] in the dtype of the query
  MutableTensorView lse;  // [B,Hq,Tq] f32
};

/// What the backward pass reads in addition to the problem.
struct SoftmaxBackwardInputs {
  TensorView out, lse;              // results of the forward pass
  TensorView d_out;                 // [B,Tq,Hq,Dv], of any float dtype
  std::optional<TensorView> d_lse;  // [B,Hq,Tq]
};

/// Gradients, with the shapes and dtypes of the inputs.
struct SoftmaxGradientOutputs {
  MutableTensorView query, key, value;
  std::optional<MutableTensorView> bias, sinks;  // if the problem has a bias, sinks
};

}  // namespace maskctl::attention
