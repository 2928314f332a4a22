// short_convolution: a causal convolution of each channel over a few tokens, as linear layers have
// it before their recurrence.
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/kernels/problems/convolution_arrays.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

// For each sequence and channel c, with a weight of W taps:
//   z_t = bias + sum over w of weight[c,w] x_(t - (W - 1) + w)     (the last tap is the token's
//   own) out_t = z_t, or with kSilu z_t / (1 + exp(-z_t))
// Inputs before the first token of a sequence are those of initial_state, or 0.

enum class Activation : std::uint8_t { kNone, kSilu };

/// Borrowed arrays. x is f32, f16 or bf16. The others may have any float dtype.
struct ShortConvolutionInputs {
  const Tensor* x = nullptr;              // [B,T,C]
  const Tensor* weight = nullptr;         // [C,W]
  const Tensor* bias = nullptr;           // [C]
  const Tensor* initial_state = nullptr;  // [B,C,W-1], or [N,C,W-1] with cu_seqlens; null: 0
  /// [N+1] nondecreasing integers from 0. B must be 1, and no tap crosses a border. For tokens past
  /// the last sequence, outputs and gradients are 0.
  const Tensor* cu_seqlens = nullptr;
};

struct ShortConvolutionOptions {
  Activation activation = Activation::kNone;
  bool return_state = false;
  Context context = {};
};

struct ShortConvolutionResult {
  Tensor out;  // [B,T,C] in the dtype of x
  /// [B or N,C,W-1] f32: the last W - 1 inputs of each sequence, those of initial_state included;
  /// set with return_state.
  std::optional<Tensor> final_state;
};

/// Throws Error(kShape, kInvalidArgument) before any work: ranks and extents that do not fit, a
/// weight without taps, cu_seqlens with B != 1.
ShortConvolutionResult short_convolution(const ShortConvolutionInputs& inputs,
                                         const ShortConvolutionOptions& options = {});

/// Gradients with the shapes and dtypes of the inputs; only of arrays that are given.
using ShortConvolutionGradients = ConvolutionArrays<Tensor>;

/// Gradients of sum(out * d_out), plus sum(final_state * d_final_state) if that is given.
ShortConvolutionGradients short_convolution_backward(const ShortConvolutionInputs& inputs,
                                                     const Tensor& d_out,
                                                     const ShortConvolutionOptions& options = {},
                                                     const Tensor* d_final_state = nullptr);

}  // namespace maskctl::attention
