// Latent attention (MLA): the checked problem that kernels receive.
#pragma once

#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention {

/// Softmax attention with key = latent w_kc and value = latent w_vc. If there are rotary parts, b_q
/// is appended to every head of query, and b_k to every head of key.
struct MlaProblem {
  /// The members key and value of this problem are not set. d.dim is D + P, the dimension with
  /// rotary parts, but `query` is [B,Tq,Hq,D], without them.
  SoftmaxProblem softmax;
  TensorView latent;                   // [B,Tk,R]
  TensorView w_kc, w_vc;               // [R,Hkv,D], [R,Hkv,Dv]
  std::optional<TensorView> b_q, b_k;  // [B,Tq,P], [B,Tk,P], or neither
};

/// Gradients, with the shapes and dtypes of the inputs.
struct MlaGradientOutputs {
  MutableTensorView query, latent, w_kc, w_vc;
  std::optional<MutableTensorView> b_q, b_k;
};

}  // namespace maskctl::attention
