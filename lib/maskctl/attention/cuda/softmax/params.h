// One call of softmax attention as plain data, which its kernels take as an argument.
#pragma once

#include <cstdint>

#include "maskctl/attention/cuda/elements.h"
#include "maskctl/attention/cuda/heads_view.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda {

struct SoftmaxParams {
  Dims d;
  HeadsView query, key, value;
  MaskView by_query, by_key;
  float scale = 1;
  float soft_cap = 0;  // 0: no soft cap
  bool bias_after_cap = false, normalize = true;
  EmptyRow empty_row = EmptyRow::kZero;

  AnyArray bias;              // data is null if there is no bias
  Index bias_stride[4] = {};  // 0 along axes of extent 1

  AnyArray sinks;
  Index sink_count = 0;
  Index heads_of_sinks = 0;  // query heads that share a row of sinks; 0: all share one

  double dropout = 0;
  std::uint64_t dropout_seed = 0;
  Index first_batch = 0, first_head = 0, first_query = 0, first_key = 0;
};

/// A call, and the other arrays that its gradients need.
struct BackwardParams {
  SoftmaxParams p;
  HeadsView out, d_out;
  const float* lse = nullptr;    // [B,Hq,Tq]
  AnyArray d_lse;                // [B,Hq,Tq]; its data may be null
  const float* delta = nullptr;  // [B,Hq,Tq]: out . d_out - d_lse
};

/// Whether a weight depends not only on its score, but also on which query and key it belongs to.
inline bool is_positional(const SoftmaxParams& p) {
  return p.bias.data || p.soft_cap != 0 || p.dropout != 0;
}

/// The parameters of a problem whose arrays are on the GPU.
SoftmaxParams softmax_params(const SoftmaxProblem& problem, const DeviceTiles& tiles);

}  // namespace maskctl::attention::cuda
