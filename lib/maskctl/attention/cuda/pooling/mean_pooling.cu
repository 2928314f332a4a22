// Means over tokens: a block takes one segment and some channels, a thread one channel.
#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/attention/cuda/pooling/mean_pooling.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 128;

template <class T>
__global__ void pool(const T* x, Index width, const Range* segments, const char* counted, T* out) {
  const Index n = blockIdx.x, channel = Index{blockIdx.y} * kThreads + threadIdx.x;
  if (channel >= width) return;
  const Range segment = segments[n];
  float sum = 0;
  Index count = 0;
  for (Index t = segment.begin; t < segment.end; ++t) {
    if (counted && !counted[t]) continue;
    sum += to_float(x[t * width + channel]);
    ++count;
  }
  store(count == 0 ? 0 : sum / static_cast<float>(count), &out[n * width + channel]);
}

}  // namespace

void mean_pooling(Workspace& workspace, const PoolingProblem& problem, const PoolingPlan& plan,
                  const MutableTensorView& out) {
  const dim3 grid(static_cast<unsigned>(problem.segments.size()),
                  static_cast<unsigned>(ceil_div(problem.width, kThreads)));
  with_element(problem.x.dtype(), [&]<class T>(std::type_identity<T>) {
    launch("mean_pooling", pool<T>, grid, kThreads, 0, workspace.stream(),
           reinterpret_cast<const T*>(problem.x.data()), problem.width, plan.segments.data(),
           problem.counted.empty() ? nullptr : plan.counted.data(),
           reinterpret_cast<T*>(out.data()));
  });
}

}  // namespace maskctl::attention::cuda
