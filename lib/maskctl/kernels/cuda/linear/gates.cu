// Gradients of gates: each thread takes one channel of a head and one interval of a sequence, whose
// tokens it visits from last to first.
#include "maskctl/kernels/cuda/linear/gates.h"
#include "maskctl/kernels/cuda/linear/rows.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 128;  // threads of a block at most, one per channel

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

/// The sum of element i of each slice; slices are `stride` floats apart.
__device__ double sum_of_slices(const float* from, Index slices, Index stride, Index i) {
  double sum = 0;
  for (Index slice = 0; slice < slices; ++slice) sum += from[slice * stride + i];
  return sum;
}

constexpr int kAtOnce = 8;                // tokens that are loaded together
constexpr float kLeastLog = -103.97208f;  // expf() of anything less is 0

/// `count` tokens of a sequence, from the last one back; at most kAtOnce.
struct TokensBack {
  Index last, step;  // step: from the index of a token to that of the token before it
  int count;

  /// Calls f(i, element) for i in [0, kAtOnce) with an element of token i from the end, or of the
  /// earliest token for i >= count. Tokens are `stride` elements apart, and token 0's is
  /// array[first].
  template <class T, class F>
  __device__ void each(T* array, Index stride, Index first, F f) const {
    T* element = array + last * stride + first;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      f(i, *element);
      if (i + 1 < count) element += step * stride;
    }
  }
};

/// to[i] += array[token i * stride + first].
__device__ void add_elements(const AnyArray& array, const TokensBack& tokens, Index stride,
                             Index first, float (&to)[kAtOnce]) {
  with_type(array.dtype, [&]<class T>(const T*) {
    const T* const data = static_cast<const T*>(array.data);
    tokens.each(data, stride, first, [&](int i, const T& x) { to[i] += to_float(x); });
  });
}
__device__ void add_elements(const LinearRows& rows, const TokensBack& tokens, Index head,
                             Index channel, float (&to)[kAtOnce]) {
  if (!rows.any()) return;
  add_elements(rows.array, tokens, rows.heads * rows.width, head * rows.width + channel, to);
}

/// Writes from[i] to to[token i * stride + first].
__device__ void store_elements(const AnyResult& to, const TokensBack& tokens, Index stride,
                               Index first, const double (&from)[kAtOnce]) {
  with_type(to.dtype, [&]<class T>(const T*) {
    T* const data = static_cast<T*>(to.data);
    tokens.each(data, stride, first, [&](int i, T& x) {
      if (i < tokens.count) store(static_cast<float>(from[i]), &x);
    });
  });
}

/// sums[i] = the sum over the slices of element `first` of token i in `before`.
__device__ void find_slices(const LinearGateGradients& g, const float* before,
                            const TokensBack& tokens, Index first, float (&sums)[kAtOnce]) {
  const Index stride = g.heads * g.axis.width;
  for (float& sum : sums) sum = 0;
  for (Index slice = 0; slice < g.slices; ++slice) {
    tokens.each(before, stride, first, [&](int i, float x) { sums[i] += x; });
    before += g.tokens * stride;
  }
}

/// growth[i] = what token i adds to the running gradient of a channel's log decay.
__device__ void find_growth(const LinearGateGradients& g, const TokensBack& tokens, Index head,
                            Index channel, float (&growth)[kAtOnce]) {
  const Index at = head * g.axis.width + channel;
  const LinearRows &plus = g.axis.backward, &minus = g.axis.forward;
  float forwards[kAtOnce], backwards[kAtOnce], grows[kAtOnce] = {}, shrinks[kAtOnce] = {};
  find_slices(g, g.before_forwards, tokens, at, forwards);
  find_slices(g, g.before_backwards, tokens, at, backwards);
  add_elements(plus, tokens, head / plus.group, channel, grows);
  add_elements(minus, tokens, head / minus.group, channel, shrinks);
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) {
    growth[i] = grows[i] * forwards[i] - shrinks[i] * backwards[i];
  }
}

/// Adds to logs[i] all log decays of token i for one channel: of the channel and of its head.
__device__ void add_logs(const LinearGateGradients& g, const TokensBack& tokens, Index head,
                         Index channel, float (&logs)[kAtOnce]) {
  for (const LinearRows& gates : g.axis.gates) add_elements(gates, tokens, head, channel, logs);
  add_elements(g.head_gates.of_tokens, tokens, head, 0, logs);
  if (!g.head_gates.of_heads.any()) return;
  const float of_head = element(g.head_gates.of_heads.array, head);
  for (float& log : logs) log += of_head;
}

/// Writes LinearGateGradients::head_parts of some tokens. Lanes of a warp have neighbouring
/// channels; gradients of channels past the width are 0.
__device__ void store_head_parts(const LinearGateGradients& g, const TokensBack& tokens, Index head,
                                 Index channel, const double (&gradients)[kAtOnce]) {
  double sums[kAtOnce];
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) sums[i] = sum_of_warp(gradients[i]);
  if (channel % 32 != 0 || channel >= g.axis.width) return;
  double* const parts = g.head_parts + channel / 32 * g.tokens * g.heads;
  tokens.each(parts, g.heads, head, [&](int i, double& to) {
    if (i < tokens.count) to = sums[i];
  });
}

__global__ void __launch_bounds__(kThreads) walk_back(const __grid_constant__ Parameters p) {
  const LinearGateGradients& g = p.g;
  const Index row = blockIdx.x / p.blocks_of_row, head = row % g.heads, n = row / g.heads;
  const Index channel = blockIdx.x % p.blocks_of_row * blockDim.x + threadIdx.x;
  const bool inside = channel < g.axis.width;
  const LinearInterval interval = p.intervals[n];
  const LinearRun run = p.runs[interval.sequence];
  double gradient = 0;
  if (inside && (g.has_last || interval.times.end < run.length)) {
    const Index width = g.axis.width;
    gradient = sum_of_slices(g.products, g.slices, p.interval_count * g.heads * width,
                             (n * g.heads + head) * width + channel);
  }
  for (Index end = interval.times.end; end > interval.times.begin; end -= kAtOnce) {
    const Index rest = end - interval.times.begin;
    const TokensBack tokens{run.first + (end - 1) * p.token_step, -p.token_step,
                            static_cast<int>(rest < kAtOnce ? rest : kAtOnce)};
    float grown[kAtOnce] = {}, logs[kAtOnce] = {};
    double gradients[kAtOnce];
    if (inside) {
      find_growth(g, tokens, head, channel, grown);
      add_logs(g, tokens, head, channel, logs);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      gradient += grown[i];
      // A decay of 0 has no gradient: the sum holds nothing but rounding errors.
      if (logs[i] < kLeastLog) gradient = 0;
      gradients[i] = gradient;
    }
    for (const AnyResult& gates : g.gates) {
      if (!gates.data || !inside) continue;
      store_elements(gates, tokens, g.heads * g.axis.width, head * g.axis.width + channel,
                     gradients);
    }
    if (g.head_parts) store_head_parts(g, tokens, head, channel, gradients);
  }
}

/// Returns the sum of element i, which belongs to one token and head, over all s.count parts of
/// LinearHeadSums::parts.
__device__ double sum_of_parts(const LinearHeadSums& s, Index i) {
  double sum = 0;
  for (Index part = 0; part < s.count; ++part) sum += s.parts[part * s.tokens * s.heads + i];
  return sum;
}

/// Computes the gradients of the gates that each token and head has (of_tokens): one thread for
/// each of them.
__global__ void __launch_bounds__(kThreads) add_tokens(const __grid_constant__ LinearHeadSums s) {
  const Index i = Index{blockIdx.x} * kThreads + threadIdx.x;
  if (i < s.tokens * s.heads) put(s.of_tokens, i, static_cast<float>(sum_of_parts(s, i)));
}

/// Computes the gradients of the gates that each head has for all tokens (of_heads): each block of
/// threads sums over the tokens of one head.
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
