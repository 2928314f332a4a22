// Extents of one softmax attention call, checked, and broadcast access to bias and sinks.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

struct Dims {
  Index batch = 0, queries = 0, keys = 0;
  Index q_heads = 0, kv_heads = 0;
  Index dim = 0, value_dim = 0;

  constexpr Index group() const { return q_heads / kv_heads; }
  Index kv_head(Index q_head) const { return q_head / group(); }
  std::vector<Index> out_shape() const { return {batch, queries, q_heads, value_dim}; }
  std::vector<Index> lse_shape() const { return {batch, q_heads, queries}; }
};

/// Throws what softmax_forward documents.
Dims checked_dims(const SoftmaxInputs& inputs, const SoftmaxOptions& options);

/// Throws Error(kShape) unless the arrays of a backward pass have the shapes of the forward pass.
void check_backward(const Dims& dims, const SoftmaxResult& forward, const Tensor& d_out,
                    const Tensor* d_lse);
/// Room for a result, not written yet.
SoftmaxResult unwritten_result(const Dims& dims, DType dtype);

/// Throws unless the bias is of floats and each of its axes is 1 or that of [B,Hq,Tq,Tk].
void check_bias(const Tensor& bias, const Dims& dims);

/// 1 / sqrt(D); 1 for D = 0.
double default_scale(Index dim);

/// Where element (b, h, q, k) of an array with extents of 1 or more is; stride 0 along axes of 1.
struct BroadcastStrides {
  std::array<Index, 4> stride{};
  Index at(Index b, Index h, Index q, Index k) const {
    return b * stride[0] + h * stride[1] + q * stride[2] + k * stride[3];
  }
};
BroadcastStrides broadcast_strides(std::span<const Index> shape);

/// Number of sinks of each row; 0 without sinks.
Index sink_count(const std::optional<TensorView>& sinks);
/// The first sink of a query head in the array ([n], [Hkv, n] or [Hq, n]).
Index first_sink(const TensorView& sinks, const Dims& dims, Index q_head);

/// Throws unless sinks are floats [n], [Hq, n] or [Hkv, n].
void check_sinks(const TensorView& sinks, const Dims& dims);

}  // namespace maskctl::attention
