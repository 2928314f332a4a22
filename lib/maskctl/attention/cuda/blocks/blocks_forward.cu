// Attention over listed blocks: each block of threads takes one token and kHeads query heads of one
// key head, and computes kColumns columns of their outputs, with an online softmax over key tiles.
#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/blocks/call.cuh"
#include "maskctl/attention/cuda/blocks/hopper/attend.h"
#include "maskctl/attention/cuda/blocks/seen_keys.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kHeads = kThreads / 8, kOwn = 4;  // kOwn: query heads per warp
static_assert(kHeads == kThreads / 32 * kOwn && kKeys == 64);

using Weights = float[kKeys][kHeads + kPadding];

/// The running softmax maximum and sum of each query head of a warp. All lanes have the same
/// values.
struct Running {
  float top[kOwn] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  float sum[kOwn] = {};
};

/// A step of the online softmax for the query heads of a warp: updates the running maxima, replaces
/// scores by exp(score - maximum) in `weights`, and rescales `sums`. Each lane handles two keys.
__device__ void online_softmax(const float* times, Weights& weights, Running& running,
                               float (&sums)[kOwn][4]) {
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * kOwn;
  float4* const at[2] = {reinterpret_cast<float4*>(&weights[lane][own]),
                         reinterpret_cast<float4*>(&weights[lane + 32][own])};
  const float4 a = *at[0], b = *at[1];
  float x[2][kOwn] = {{a.x, a.y, a.z, a.w}, {b.x, b.y, b.z, b.w}};
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const float top = fmaxf(running.top[i], max_of_lanes(fmaxf(x[0][i], x[1][i])));
    const float rescale = rescale_factor(running.top[i], top);
    for (int k = 0; k < 2; ++k) {
      const float count = times[lane + 32 * k];
      x[k][i] = count == 0 ? 0 : count * expf(x[k][i] - top);
    }
    running.top[i] = top;
    running.sum[i] = running.sum[i] * rescale + sum_of_lanes(x[0][i] + x[1][i]);
    for (float& sum : sums[i]) sum *= rescale;
  }
  for (int k = 0; k < 2; ++k) *at[k] = make_float4(x[k][0], x[k][1], x[k][2], x[k][3]);
}

__global__ void __launch_bounds__(kThreads, kSmallBlocksAtOnce)
    attend(const BlockCall c, AnyResult out, float* lse) {
  __shared__ Factors<kThreads> factors;
  alignas(16) __shared__ Weights weights;
  __shared__ SeenKeys seen;
  __shared__ Index query_rows[kHeads];
  const TokenBlocks token(c.lists, blockIdx.x / c.kv_heads, blockIdx.x % c.kv_heads);
  const Index first_head = Index{blockIdx.y} * kHeads, first_column = Index{blockIdx.z} * kColumns;
  const auto head = [&](int n) { return token.u * c.group + first_head + n; };
  const auto is_head = [&](int n) { return first_head + n < c.group; };
  if (threadIdx.x < kHeads) {
    query_rows[threadIdx.x] =
        is_head(threadIdx.x) ? c.query_row(token.token, head(threadIdx.x)) : -1;
  }

  Running running;
  float sums[kOwn][4] = {};
  for_each_tile(token, seen, [&] {
    float scores[2][4];
    multiply_rows<kThreads>({c.query, c.dim, query_rows}, {c.key, c.dim, seen.rows}, factors,
                            scores);
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const int i = n / 4, j = n % 4;
      weights[key_of(j)][query_of(i)] =
          seen.times[key_of(j)] == 0 ? -INFINITY : c.scale * scores[i][j];
    }
    __syncthreads();
    online_softmax(seen.times, weights, running, sums);
    add_weighted_rows<kThreads>(weights, {c.value, c.value_dim, seen.rows}, first_column, factors,
                                sums);
  });

  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * kOwn;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (!is_head(own + i)) continue;
    const Index h = head(own + i), row = c.query_row(token.token, h) * c.value_dim;
    const float sum = running.sum[i];
    for (int x = 0; x < 4; ++x) {
      const Index column = first_column + 4 * lane + x;
      if (column < c.value_dim) put(out, row + column, sum == 0 ? 0 : sums[i][x] / sum);
    }
    if (lane == 0 && blockIdx.z == 0) {
      lse[c.row_by_head(token.token, h)] = sum == 0 ? -INFINITY : running.top[i] + logf(sum);
    }
  }
}

}  // namespace

void blocks_forward(Workspace& workspace, const BlockProblem& problem, const BlockPlan& plan,
                    const SoftmaxOutputs& outputs) {
  if (hopper::takes_blocks(problem, plan.lists())) {
    return hopper::attend(workspace, problem, plan.lists(), outputs);
  }
  const BlockCall call(problem, plan.lists());
  launch("blocks_forward", attend, token_grid(call, kHeads, call.value_dim), kThreads, 0,
         workspace.stream(), call, any_result(outputs.out),
         reinterpret_cast<float*>(outputs.lse.data()));
}

}  // namespace maskctl::attention::cuda
