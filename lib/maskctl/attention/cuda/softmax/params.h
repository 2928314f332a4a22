// One call of softmax attention as its kernels take it: plain data on the GPU.
#pragma once

#include <cstdint>

#include "maskctl/attention/cuda/elements.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda {

/// An array [B,T,H,D]; strides in elements, 1 along D.
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
  float soft_cap = 0;  // 0: none
  bool bias_after_cap = false, normalize = true;
  EmptyRow empty_row = EmptyRow::kZero;

  AnyArray bias;              // its data may be null
  Index bias_stride[4] = {};  // 0 along axes of 1

  AnyArray sinks;
  Index sink_count = 0;
  Index heads_of_sinks = 0;  // query heads that share a row of sinks; 0: all do

  double dropout = 0;
  std::uint64_t dropout_seed = 0;
  Index first_batch = 0, first_head = 0, first_query = 0, first_key = 0;
};

/// Throws Error(kUnsupported) for arrays with gaps along their last axis.
HeadsView heads_view(const TensorView& array);

/// The problem's arrays are on the GPU.
SoftmaxParams softmax_params(const SoftmaxProblem& problem, const DeviceTiles& tiles);

}  // namespace maskctl::attention::cuda
