// Selects the blocks of keys that each token sees. For each token and key head, a block of threads
// scores all complete blocks of keys by their mean keys and sums the softmax weights over the query
// heads; one of its warps chooses the blocks.
#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/blocks/select_on_tensor_cores.h"
#include "maskctl/attention/cuda/blocks/selection.cuh"
#include "maskctl/attention/cuda/blocks/tiles.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kHeads = kThreads / 8, kOwnHeads = 4;

/// A token and key head, for which blocks are selected.
struct Choice {
  Index token, u;
  Candidates blocks;
  float* scores;      // [kHeads, most_blocks]
  float* importance;  // [most_blocks]
};

struct Shared {
  Factors<kThreads> factors;
  Index query_rows[kHeads], mean_rows[kKeys];
  float tops[kHeads], sums[kHeads];
};

/// scores[i] = the scaled products of query head first_head + i and the mean key of each complete
/// block.
__device__ void score(const SelectionCall& c, const Choice& choice, Index first_head,
                      Shared& shared) {
  for (Index first = 0; first < choice.blocks.seen; first += kKeys) {
    __syncthreads();
    const int n = threadIdx.x;
    if (n < kHeads) {
      const Index h = first_head + n;
      shared.query_rows[n] = h < c.group ? c.query_row(choice.token, choice.u, h) : -1;
    }
    if (n < kKeys) {
      const bool inside = first + n < choice.blocks.seen;
      shared.mean_rows[n] = inside ? (choice.blocks.means + first + n) * c.kv_heads + choice.u : -1;
    }
    __syncthreads();
    float products[2][4];
    multiply_rows<kThreads>({c.query, c.dim, shared.query_rows}, {c.means, c.dim, shared.mean_rows},
                            shared.factors, products);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const Index block = first + key_of(i % 4);
      if (block >= choice.blocks.seen) continue;
      choice.scores[query_of(i / 4) * c.most_blocks + block] = c.scale * products[i / 4][i % 4];
    }
  }
  __syncthreads();
}

/// For each query head: the maximum of its scores and the sum of exp(score - maximum). Each warp
/// computes kOwnHeads heads.
__device__ void sum_heads(const SelectionCall& c, const Choice& choice, Shared& shared) {
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * kOwnHeads;
  for (int h = own; h < own + kOwnHeads; ++h) {
    const float* const scores = choice.scores + h * c.most_blocks;
    float top = -INFINITY, sum = 0;
    for (Index i = lane; i < choice.blocks.seen; i += 32) top = fmaxf(top, scores[i]);
    top = max_of_lanes(top);
    for (Index i = lane; i < choice.blocks.seen; i += 32) sum += expf(scores[i] - top);
    sum = sum_of_lanes(sum);
    if (lane == 0) shared.tops[h] = top, shared.sums[h] = sum;
  }
  __syncthreads();
}

/// Sets importance[block] to the softmax weights of each complete block summed over the query
/// heads.
__device__ void sum_importance(const SelectionCall& c, const Choice& choice, Shared& shared) {
  const Index seen = choice.blocks.seen;
  for (Index i = threadIdx.x; i < seen; i += kThreads) choice.importance[i] = 0;
  for (Index head = 0; head < c.group && seen > 0; head += kHeads) {
    score(c, choice, head, shared);
    sum_heads(c, choice, shared);
    const Index heads = c.group - head < kHeads ? c.group - head : kHeads;
    for (Index i = threadIdx.x; i < seen; i += kThreads) {
      for (int h = 0; h < heads; ++h) {
        choice.importance[i] +=
            expf(choice.scores[h * c.most_blocks + i] - shared.tops[h]) / shared.sums[h];
      }
    }
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads, kSmallBlocksAtOnce)
    select(const SelectionCall c, float* scratch) {
  __shared__ Shared shared;
  float* const scores = scratch + Index{blockIdx.x} * (kHeads + 1) * c.most_blocks;
  for (Index i = blockIdx.x; i < c.tokens * c.kv_heads; i += gridDim.x) {
    const Index token = i / c.kv_heads;
    const Choice choice{token, i % c.kv_heads, Candidates(c, token), scores,
                        scores + kHeads * c.most_blocks};
    sum_importance(c, choice, shared);
    if (threadIdx.x < 32) {
      choose_blocks(c, choice.importance, choice.blocks.blocks, c.selected_by(token, choice.u));
    }
    __syncthreads();
  }
}

}  // namespace

void select_blocks(Workspace& workspace, const SelectionProblem& problem, const SelectionPlan& plan,
                   const MutableTensorView& selected) {
  if (selects_on_tensor_cores(problem)) {
    return select_on_tensor_cores(workspace, problem, plan, selected);
  }
  const Workspace::Scope scope(workspace);
  const SelectionCall c(problem, plan, selected);
  const Index floats = (kHeads + 1) * c.most_blocks;
  const Index blocks = selecting_blocks(c.tokens * c.kv_heads, floats, 1024);
  launch("select_blocks", select, static_cast<unsigned>(blocks), kThreads, 0, workspace.stream(), c,
         workspace.take<float>(blocks * floats));
}

}  // namespace maskctl::attention::cuda
