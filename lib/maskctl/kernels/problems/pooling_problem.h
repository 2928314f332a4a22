// Mean pooling over tokens: the checked problem that kernels receive.
#pragma once

#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// Mean n is over the token range `segments[n]`; tokens are numbered over the whole batch.
struct PoolingProblem {
  TensorView x;
  Index tokens = 0, width = 1;  // extents of x, seen as [tokens, width]
  std::vector<Range> segments;
  std::vector<Index> out_shape;
  std::vector<char> counted;  // which tokens count; empty: all do

  bool counts(Index token) const { return counted.empty() || counted[as_size(token)] != 0; }
  /// 1 / the number of counted tokens in a segment; 0 if it has none.
  double weight(Range segment) const {
    Index count = 0;
    for (Index t = segment.begin; t < segment.end; ++t) count += counts(t);
    return count == 0 ? 0 : 1 / static_cast<double>(count);
  }
};

}  // namespace maskctl::attention
