// Means over tokens, checked, as kernels take them.
#pragma once

#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// Mean n is over the tokens `segments[n]` of all tokens of the batch.
struct PoolingProblem {
  TensorView x;
  Index tokens = 0, width = 1;  // of x as [tokens, width]
  std::vector<Range> segments;
  std::vector<Index> out_shape;
  std::vector<char> counted;  // empty: all

  bool counts(Index token) const { return counted.empty() || counted[as_size(token)] != 0; }
  /// 1 / the number of tokens that count, 0 when there are none.
  double weight(Range segment) const {
    Index count = 0;
    for (Index t = segment.begin; t < segment.end; ++t) count += counts(t);
    return count == 0 ? 0 : 1 / static_cast<double>(count);
  }
};

}  // namespace maskctl::attention
