// One call of softmax attention as plain data, which its kernels take as an argument.
#pragma once

#include <cstdint>

#include "maskctl/attention/cuda/elements.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda {

/// An array [B,T,H,D]. Strides are in elements; along D the stride is 1.
struct HeadsView {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
  Index batch_stride = 0, token_stride = 0, head_stride = 0;
};

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

/// The array as a HeadsView. Throws Error(kUnsupported) if it is not contiguous along its last
/// axis.
HeadsView heads_view(const TensorView& array);

/// The parameters of a problem whose arrays are on the GPU.
SoftmaxParams softmax_params(const SoftmaxProblem& problem, const DeviceTiles& tiles);

}  // namespace maskctl::attention::cuda
