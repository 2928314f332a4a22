#include "maskctl/attention/problems/dims.h"

#include <algorithm>
#include <cmath>

namespace maskctl::attention {

double default_scale(Index dim) {
  return 1 / std::sqrt(static_cast<double>(std::max<Index>(dim, 1)));
}

BroadcastStrides broadcast_strides(std::span<const Index> shape) {
  BroadcastStrides strides;
  Index step = 1;
  for (std::size_t axis = 4; axis-- > 0;) {
    strides.stride[axis] = shape[axis] == 1 ? 0 : step;
    step *= shape[axis];
  }
  return strides;
}

Index sink_count(const std::optional<TensorView>& sinks) {
  return sinks ? sinks->extent(sinks->rank() - 1) : 0;
}

Index first_sink(const TensorView& sinks, const Dims& dims, Index q_head) {
  if (sinks.rank() == 1) return 0;
  const Index row = sinks.extent(0) == dims.q_heads ? q_head : dims.kv_head(q_head);
  return row * sinks.extent(1);
}

}  // namespace maskctl::attention
