// Selects the blocks of keys that each token sees. For each token and key head, a block of threads
// scores all complete blocks of keys by their mean keys, sums the softmax weights over the query
// heads, finds by bisection the least weight that is selected, and writes the selected blocks in
// descending order of their index.
#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/blocks/tiles.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kHeads = kThreads / 8, kOwnHeads = 4;

struct SelectionCall {
  AnyArray query, means;
  const MeanOffsets* offsets;
  Index tokens, kv_heads, group, dim, block_size, count, most_blocks;
  float scale;
  float* scratch;          // [kHeads + 1, most_blocks] for each block of threads
  std::int32_t* selected;  // [B,T,Hkv,count]
};

/// A token and key head, for which blocks are selected.
struct Choice {
  Index token, u;
  MeanOffsets offsets;
  Index seen, blocks;  // complete blocks up to the token; those and its own
  float* scores;       // [kHeads, most_blocks]
  float* importance;   // [most_blocks]
};

struct Shared {
  Factors<kThreads> factors;
  Index query_rows[kHeads], mean_rows[kKeys];
  float tops[kHeads], sums[kHeads];
  int votes;
};

/// scores[i] = the scaled products of query head first_head + i and the mean key of each complete
/// block.
__device__ void score(const SelectionCall& c, const Choice& choice, Index first_head,
                      Shared& shared) {
  for (Index first = 0; first < choice.seen; first += kKeys) {
    __syncthreads();
    const int n = threadIdx.x;
    if (n < kHeads) {
      const Index h = first_head + n;
      shared.query_rows[n] =
          h < c.group ? (choice.token * c.kv_heads + choice.u) * c.group + h : -1;
    }
    if (n < kKeys) {
      const bool inside = first + n < choice.seen;
      shared.mean_rows[n] =
          inside ? (choice.offsets.means + first + n) * c.kv_heads + choice.u : -1;
    }
    __syncthreads();
    float products[2][4];
    multiply_rows<kThreads>({c.query, c.dim, shared.query_rows}, {c.means, c.dim, shared.mean_rows},
                            shared.factors, products);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const Index block = first + key_of(i % 4);
      if (block >= choice.seen) continue;
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
    for (Index i = lane; i < choice.seen; i += 32) top = fmaxf(top, scores[i]);
    top = max_of_lanes(top);
    for (Index i = lane; i < choice.seen; i += 32) sum += expf(scores[i] - top);
    sum = sum_of_lanes(sum);
    if (lane == 0) shared.tops[h] = top, shared.sums[h] = sum;
  }
  __syncthreads();
}

/// Sets importance[block] to the softmax weights of the block summed over the query heads. The
/// token's own block counts as if each head gave it weight 1.
__device__ void sum_importance(const SelectionCall& c, const Choice& choice, Shared& shared) {
  for (Index i = threadIdx.x; i < choice.blocks; i += kThreads) choice.importance[i] = 0;
  for (Index head = 0; head < c.group && choice.seen > 0; head += kHeads) {
    score(c, choice, head, shared);
    sum_heads(c, choice, shared);
    const Index heads = c.group - head < kHeads ? c.group - head : kHeads;
    for (Index i = threadIdx.x; i < choice.seen; i += kThreads) {
      for (int h = 0; h < heads; ++h) {
        choice.importance[i] +=
            expf(choice.scores[h * c.most_blocks + i] - shared.tops[h]) / shared.sums[h];
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) choice.importance[choice.blocks - 1] = static_cast<float>(c.group);
  __syncthreads();
}

/// An integer that orders blocks as their weights do. NaN gets 0, as a weight of 0 does.
__device__ unsigned order_of(float weight) { return weight > 0 ? __float_as_uint(weight) : 0; }

/// How many blocks have an order_of() of at least `least`; every thread gets the count.
__device__ Index count_from(unsigned least, const Choice& choice, Shared& shared) {
  if (threadIdx.x == 0) shared.votes = 0;
  __syncthreads();
  int own = 0;
  for (Index i = threadIdx.x; i < choice.blocks; i += kThreads) {
    own += order_of(choice.importance[i]) >= least;
  }
  atomicAdd(&shared.votes, own);
  __syncthreads();
  const Index all = shared.votes;
  __syncthreads();
  return all;
}

/// The greatest threshold that order_of() reaches for at least `wanted` blocks; 0 when all blocks
/// are wanted.
__device__ unsigned find_threshold(Index wanted, const Choice& choice, Shared& shared) {
  unsigned threshold = 0;
  for (unsigned bit = 1u << 30; wanted < choice.blocks && bit != 0; bit >>= 1) {
    if (count_from(threshold | bit, choice, shared) >= wanted) threshold |= bit;
  }
  return threshold;
}

/// Writes the indices of the blocks whose order_of() is above the threshold, and of the first
/// `equal` blocks with order_of() == threshold, in descending order. One warp runs this.
__device__ void write_chosen(unsigned threshold, Index equal, Index wanted, const Choice& choice,
                             std::int32_t* to) {
  const unsigned lane = threadIdx.x, before = (1u << lane) - 1;
  for (Index first = 0; first < choice.blocks; first += 32) {
    const Index block = first + lane;
    const bool inside = block < choice.blocks;
    const unsigned order = inside ? order_of(choice.importance[block]) : 0;
    const unsigned ties = __ballot_sync(~0u, inside && order == threshold);
    const bool wins_tie = order == threshold && __popc(ties & before) < equal;
    const bool chosen = inside && (order > threshold || wins_tie);
    const unsigned votes = __ballot_sync(~0u, chosen);
    if (chosen) to[wanted - 1 - __popc(votes & before)] = static_cast<std::int32_t>(block);
    wanted -= __popc(votes);
    equal -= __popc(ties);
  }
}

__device__ void choose(const SelectionCall& c, const Choice& choice, Shared& shared,
                       std::int32_t* to) {
  const Index wanted = c.count < choice.blocks ? c.count : choice.blocks;
  for (Index i = wanted + threadIdx.x; i < c.count; i += kThreads) to[i] = -1;
  const unsigned threshold = find_threshold(wanted, choice, shared);
  const Index above = count_from(threshold + 1, choice, shared);
  if (threadIdx.x < 32) write_chosen(threshold, wanted - above, wanted, choice, to);
}

__global__ void __launch_bounds__(kThreads, kSmallBlocksAtOnce) select(const SelectionCall c) {
  __shared__ Shared shared;
  float* const scratch = c.scratch + Index{blockIdx.x} * (kHeads + 1) * c.most_blocks;
  for (Index i = blockIdx.x; i < c.tokens * c.kv_heads; i += gridDim.x) {
    Choice choice{i / c.kv_heads,
                  i % c.kv_heads,
                  c.offsets[i / c.kv_heads],
                  0,
                  0,
                  scratch,
                  scratch + kHeads * c.most_blocks};
    if (choice.offsets.first >= 0) {
      const Index t = choice.token - choice.offsets.first;
      choice.seen = (t + 1) / c.block_size, choice.blocks = t / c.block_size + 1;
      sum_importance(c, choice, shared);
    }
    choose(c, choice, shared, c.selected + i * c.count);
    __syncthreads();
  }
}

}  // namespace

void select_blocks(Workspace& workspace, const SelectionProblem& problem, const SelectionPlan& plan,
                   const MutableTensorView& selected) {
  const Workspace::Scope scope(workspace);
  const BlockProblem& b = *problem.blocks;
  SelectionCall c{any_array(problem.query),
                  any_array(problem.mean_keys),
                  plan.offsets(),
                  b.d.batch * b.d.queries,
                  b.d.kv_heads,
                  b.d.group(),
                  b.d.dim,
                  b.block_size,
                  b.count,
                  plan.most_blocks(),
                  static_cast<float>(b.scale),
                  nullptr,
                  reinterpret_cast<std::int32_t*>(selected.data())};
  // Enough blocks of threads to fill any GPU, but at most 256 MiB of scratch memory, if one block
  // needs no more.
  constexpr Index kMostBlocks = 1024, kMostFloats = Index{1} << 26;
  const Index floats = (kHeads + 1) * c.most_blocks;
  const Index fit = std::clamp<Index>(kMostFloats / floats, 1, kMostBlocks);
  const Index blocks = std::min(c.tokens * c.kv_heads, fit);
  c.scratch = workspace.take<float>(blocks * floats);
  launch("select_blocks", select, static_cast<unsigned>(blocks), kThreads, 0, workspace.stream(),
         c);
}

}  // namespace maskctl::attention::cuda
