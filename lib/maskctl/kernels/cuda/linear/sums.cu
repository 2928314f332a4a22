// Sums over slices and heads: each thread sums one channel of one token.
#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/kernels/cuda/linear/sums.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void add_rows(const __grid_constant__ LinearSum p) {
  const Index i = Index{blockIdx.x} * kThreads + threadIdx.x;
  const Index heads = p.heads / p.group;
  if (i >= p.tokens * heads * p.width) return;
  const Index token = i / (heads * p.width), head = i / p.width % heads, channel = i % p.width;
  float sum = 0;
  for (Index h = head * p.group; h < (head + 1) * p.group; ++h) {
    for (Index slice = 0; slice < p.slices; ++slice) {
      sum += p.partial[((slice * p.tokens + token) * p.heads + h) * p.width + channel];
    }
  }
  put(p.out, i, sum);
}

}  // namespace

void add_up(Workspace& workspace, const LinearSum& sum) {
  const Index results = sum.tokens * (sum.heads / sum.group) * sum.width;
  launch("linear sums", add_rows, static_cast<unsigned>(ceil_div(results, kThreads)), kThreads, 0,
         workspace.stream(), sum);
}

}  // namespace maskctl::attention::cuda
