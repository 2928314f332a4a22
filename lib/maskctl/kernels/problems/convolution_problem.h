// A short convolution over tokens: the checked problem that kernels receive.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "maskctl/attention/problems/token_sequences.h"
#include "maskctl/kernels/problems/convolution_arrays.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// A ConvolutionArrays that holds f(array) for every array of `x`.
template <class Arrays, class F>
auto map_convolution_arrays(Arrays& x, F&& f) {
  return ConvolutionArrays<decltype(f(x.x)), decltype(f(x.bias))>{f(x.x), f(x.weight), f(x.bias),
                                                                  f(x.initial_state)};
}

/// State n belongs to sequence n.
struct ConvolutionDims : TokenSequences {
  Index channels = 0;
  Index width = 1;    // taps: a token and the width - 1 before it
  bool silu = false;  // out = z / (1 + exp(-z)) of the sum z

  Index past() const { return width - 1; }
  std::vector<Index> out_shape() const { return {batch, tokens, channels}; }
  std::vector<Index> state_shape() const {
    return {static_cast<Index>(sequences.size()), channels, past()};
  }
};

/// x is [B,T,C], weight [C,width], bias [C]; initial_state [N,C,width - 1] holds the inputs before
/// the first token of each sequence.
struct ConvolutionProblem : ConvolutionArrays<TensorView> {
  ConvolutionDims d;
};

struct ConvolutionOutputs {
  MutableTensorView out;          // [B,T,C] in the dtype of x
  MutableTensorView final_state;  // [N,C,width - 1] f32: the last inputs of each sequence
};

/// What the backward pass reads in addition to the problem, of any float dtype.
struct ConvolutionBackwardInputs {
  TensorView d_out;
  std::optional<TensorView> d_final_state;
};

/// Gradients, with the shapes and dtypes of the inputs; only of arrays that the problem has.
using ConvolutionGradientOutputs = ConvolutionArrays<MutableTensorView>;

/// z / (1 + exp(-z)), and its derivative.
template <class T>
T silu(T z) {
  return z / (1 + std::exp(-z));
}
template <class T>
T silu_slope(T z) {
  const T sigmoid = 1 / (1 + std::exp(-z));
  return sigmoid * (1 + z * (1 - sigmoid));
}

}  // namespace maskctl::attention
