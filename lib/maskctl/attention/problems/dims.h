// The extents of a softmax attention call, and the positions of elements of its bias and sinks.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

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

/// The default scale of logits: 1 / sqrt(D), or 1 for D = 0.
double default_scale(Index dim);

/// The offset of element (b, h, q, k) in an array that broadcasts along its axes of extent 1.
struct BroadcastStrides {
  std::array<Index, 4> stride{};
  Index at(Index b, Index h, Index q, Index k) const {
    return b * stride[0] + h * stride[1] + q * stride[2] + k * stride[3];
  }
};
BroadcastStrides broadcast_strides(std::span<const Index> shape);

/// The number of sinks that each query row has; 0 without sinks.
Index sink_count(const std::optional<TensorView>& sinks);
/// The offset of the first sink of a query head in the array [n], [Hkv, n] or [Hq, n].
Index first_sink(const TensorView& sinks, const Dims& dims, Index q_head);

}  // namespace maskctl::attention
