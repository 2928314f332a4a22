// The weights in the outputs of a probe; private to verify.
#pragma once

#include <vector>

#include "maskctl/tensor/tensor.h"
#include "maskctl/verify/probe.h"

namespace maskctl::attention {

/// Weights in any memory layout: the weight of key pD + c in row (b, h, i) is data[p * pass + b *
/// batch + h * head + i * query + c].
struct WeightView {
  const float* data;
  Index batch_extent, heads, queries, keys, dim;
  Index pass, batch, head, query;

  void row(Index b, Index h, Index i, std::vector<float>& out) const {
    const float* at = data + b * batch + h * head + i * query;
    for (Index j = 0; j < keys; ++j) out[as_size(j)] = at[j / dim * pass + j % dim];
  }
};

/// The outputs of all passes of a probe, whose elements are weights.
class ProbeOutputs {
 public:
  /// Throws like read_probe().
  ProbeOutputs(const Tensor& outputs, Index keys, Layout layout);

  const WeightView& weights() const { return view_; }

 private:
  Tensor floats_;
  WeightView view_;
};

}  // namespace maskctl::attention
