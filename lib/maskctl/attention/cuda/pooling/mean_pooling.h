// Means over tokens on the GPU.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/problems/pooling_problem.h"

namespace maskctl::attention::cuda {

/// What the kernel reads of a problem beside its array.
struct PoolingPlan {
  PoolingPlan(const PoolingProblem& problem, Stream stream)
      : segments(problem.segments, stream), counted(problem.counted, stream) {}
  DeviceArray<Range> segments;
  DeviceArray<char> counted;
};

void mean_pooling(Workspace& workspace, const PoolingProblem& problem, const PoolingPlan& plan,
                  const MutableTensorView& out);

}  // namespace maskctl::attention::cuda
