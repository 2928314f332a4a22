// Gradients of gates: a thread takes a channel of a head and walks back through one interval.
#include "maskctl/attention/cuda/linear/gates.h"
#include "maskctl/attention/cuda/linear/rows.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 128;  // channels of a block, at most

struct Parameters {
  LinearGateGradients g;
  const LinearRun* runs;
  const LinearInterval* intervals;
  Index interval_count, blocks_of_row, token_step;
};

__device__ double sum_of_warp(double x) {
  for (int bit = 16; bit > 0; bit /= 2) x += __shfl_xor_sync(~0u, x, bit);
  return x;
}

/// The sum over the slices of one element of [slices, rows, width].
__device__ double sum_of_slices(const float* from, Index slices, Index stride, Index i) {
  double sum = 0;
  for (Index slice = 0; slice < slices; ++slice) sum += from[slice * stride + i];
  return sum;
}

/// What the gradient grows by from a token to the one before. `forward_head`: head of the forward
/// rows.
__device__ double growth(const LinearGateGradients& g, Index token, Index head, Index forward_head,
                         Index channel) {
  const Index i = (token * g.heads + head) * g.axis.width + channel;
  const Index stride = g.tokens * g.heads * g.axis.width;
  const LinearRows &plus = g.axis.backward, &minus = g.axis.forward;
  return element(plus.array, row_of(plus, token, head) + channel) *
             sum_of_slices(g.before_forwards, g.slices, stride, i) -
         element(minus.array, row_of(minus, token, forward_head) + channel) *
             sum_of_slices(g.before_backwards, g.slices, stride, i);
}

__global__ void __launch_bounds__(kThreads) walk_back(const __grid_constant__ Parameters p) {
  const LinearGateGradients& g = p.g;
  const Index row = blockIdx.x / p.blocks_of_row, head = row % g.heads, n = row / g.heads;
  const Index channel = blockIdx.x % p.blocks_of_row * blockDim.x + threadIdx.x;
  const Index forward_head = head / g.axis.forward.group;
  const bool inside = channel < g.axis.width;
  const LinearInterval interval = p.intervals[n];
  const LinearRun run = p.runs[interval.sequence];
  double gradient = 0;
  if (inside && (g.has_last || interval.times.end < run.length)) {
    const Index width = g.axis.width;
    gradient = sum_of_slices(g.products, g.slices, p.interval_count * g.heads * width,
                             (n * g.heads + head) * width + channel);
  }
  for (Index time = interval.times.end - 1; time >= interval.times.begin; --time) {
    const Index token = run.first + time * p.token_step;
    if (inside) {
      gradient += growth(g, token, head, forward_head, channel);
      // A decay of 0 has no gradient: the sum holds nothing but rounding errors.
      const float log =
          log_decay(g.axis, token, head, channel) + log_decay(g.head_gates, token, head);
      if (expf(log) == 0) gradient = 0;
      const Index to = (token * g.heads + head) * g.axis.width + channel;
      for (const AnyResult& gates : g.gates) {
        if (gates.data) put(gates, to, static_cast<float>(gradient));
      }
    }
    if (!g.head_parts) continue;
    const double sum = sum_of_warp(gradient);
    if (channel % 32 == 0 && inside) {
      g.head_parts[(channel / 32 * g.tokens + token) * g.heads + head] = sum;
    }
  }
}

/// The sum of the parts of one token and head.
__device__ double sum_of_parts(const LinearHeadSums& s, Index i) {
  double sum = 0;
  for (Index part = 0; part < s.count; ++part) sum += s.parts[part * s.tokens * s.heads + i];
  return sum;
}

/// A thread takes a token and head.
__global__ void __launch_bounds__(kThreads) add_tokens(const __grid_constant__ LinearHeadSums s) {
  const Index i = Index{blockIdx.x} * kThreads + threadIdx.x;
  if (i < s.tokens * s.heads) put(s.of_tokens, i, static_cast<float>(sum_of_parts(s, i)));
}

/// A block takes a head.
__global__ void __launch_bounds__(kThreads) add_heads(const __grid_constant__ LinearHeadSums s) {
  __shared__ double of_warps[kThreads / 32];
  double sum = 0;
  for (Index token = threadIdx.x; token < s.tokens; token += kThreads) {
    sum += sum_of_parts(s, token * s.heads + blockIdx.x);
  }
  sum = sum_of_warp(sum);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int warp = 1; warp < kThreads / 32; ++warp) sum += of_warps[warp];
  put(s.of_heads, blockIdx.x, static_cast<float>(sum));
}

}  // namespace

void find_gates(Workspace& workspace, const LinearPlan& plan, const LinearGateGradients& g) {
  const Index threads = std::min<Index>(ceil_div(g.axis.width, 32) * 32, kThreads);
  const Index blocks_of_row = ceil_div(g.axis.width, threads);
  const Parameters parameters{g,
                              plan.runs.data(),
                              plan.interval_list.data(),
                              plan.intervals,
                              blocks_of_row,
                              plan.token_step};
  launch("linear gates", walk_back, static_cast<unsigned>(plan.intervals * g.heads * blocks_of_row),
         static_cast<unsigned>(threads), 0, workspace.stream(), parameters);
}

void add_up(Workspace& workspace, const LinearHeadSums& sums) {
  if (sums.of_tokens.data) {
    launch("linear gates of tokens", add_tokens,
           static_cast<unsigned>(ceil_div(sums.tokens * sums.heads, kThreads)), kThreads, 0,
           workspace.stream(), sums);
  }
  if (sums.of_heads.data) {
    launch("linear gates of heads", add_heads, static_cast<unsigned>(sums.heads), kThreads, 0,
           workspace.stream(), sums);
  }
}

}  // namespace maskctl::attention::cuda
