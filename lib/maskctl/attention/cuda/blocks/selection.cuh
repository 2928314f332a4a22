// What the kernels that select blocks have in common: their arguments, and the choice of a token's
// blocks once the importance of each is known.
#pragma once

#include <algorithm>

#include "maskctl/attention/cuda/blocks/block_plan.h"
#include "maskctl/attention/cuda/launch.cuh"

namespace maskctl::attention::cuda {

struct SelectionCall {
  SelectionCall(const SelectionProblem& problem, const SelectionPlan& plan,
                const MutableTensorView& selected)
      : query(any_array(problem.query)),
        means(any_array(problem.mean_keys)),
        offsets(plan.offsets()),
        tokens(problem.blocks->d.batch * problem.blocks->d.queries),
        kv_heads(problem.blocks->d.kv_heads),
        group(problem.blocks->d.group()),
        dim(problem.blocks->d.dim),
        block_size(problem.blocks->block_size),
        count(problem.blocks->count),
        most_blocks(plan.most_blocks()),
        scale(static_cast<float>(problem.blocks->scale)),
        selected(reinterpret_cast<std::int32_t*>(selected.data())) {}

  __device__ Index q_heads() const { return kv_heads * group; }
  __device__ Index query_row(Index token, Index u, Index h) const {
    return token * q_heads() + u * group + h;
  }
  __device__ std::int32_t* selected_by(Index token, Index u) const {
    return selected + (token * kv_heads + u) * count;
  }

  AnyArray query, means;       // [B,T,Hq,D], [B,C,Hkv,D]
  const MeanOffsets* offsets;  // [B,T]
  Index tokens;                // B * T
  Index kv_heads, group, dim, block_size, count, most_blocks;
  float scale;
  std::int32_t* selected;  // [B,T,Hkv,count]
};

/// The blocks of keys that a token may select: the first `blocks` blocks of its sequence, of which
/// the last contains the token. The token sees all keys of the first `seen` of them, whose mean
/// keys begin at row `means` of [B,C]. A token without a sequence has no blocks.
struct Candidates {
  __device__ Candidates(const SelectionCall& c, Index token) {
    const MeanOffsets offsets = token < c.tokens ? c.offsets[token] : MeanOffsets();
    if (offsets.first < 0) return;
    const Index t = token - offsets.first;
    means = offsets.means;
    blocks = t / c.block_size + 1;
    seen = blocks - ((t + 1) % c.block_size != 0);
  }
  Index means = 0, seen = 0, blocks = 0;
};

/// Returns an integer that grows with the importance of a block, so that blocks can be compared by
/// it. NaN gets 0, like an importance of 0.
__device__ inline unsigned order_of(float importance) {
  return importance > 0 ? __float_as_uint(importance) : 0;
}

/// The order_of() of each of a token's blocks. All lanes of a warp must call these functions
/// together.
class BlockOrders {
 public:
  __device__ BlockOrders(const float* importance, Index blocks)
      : importance_(importance), blocks_(blocks) {
#pragma unroll
    for (int n = 0; n < kKept; ++n) kept_[n] = read(n * 32);
  }

  /// Returns how many blocks have an order_of() of at least `least`, which must not be 0.
  __device__ Index count_from(unsigned least) const {
    int count = 0;
#pragma unroll
    for (int n = 0; n < kKept; ++n) {
      if (n * 32 < blocks_) count += __popc(__ballot_sync(~0u, kept_[n] >= least));
    }
    for (Index first = kKept * 32; first < blocks_; first += 32) {
      count += __popc(__ballot_sync(~0u, read(first) >= least));
    }
    return count;
  }
  /// Returns a threshold such that at most `wanted` blocks have an order_of() above it, and at
  /// least `wanted` blocks have one that equals it or is above; 0 when all blocks are wanted.
  __device__ unsigned find_threshold(Index wanted) const {
    unsigned threshold = 0;
    for (unsigned bit = 1u << 30; wanted < blocks_ && bit != 0; bit >>= 1) {
      const Index count = count_from(threshold | bit);
      if (count >= wanted) threshold |= bit;
      if (count == wanted) break;
    }
    return threshold;
  }
  /// Writes `wanted` block numbers in descending order: those of all blocks whose order_of() is
  /// above the threshold, and of the first `equal` blocks for which it equals the threshold.
  __device__ void write(unsigned threshold, Index equal, Index wanted, std::int32_t* to) const {
    const unsigned lane = threadIdx.x % 32, before = (1u << lane) - 1;
    for (Index first = 0; first < blocks_; first += 32) {
      const bool inside = first + lane < blocks_;
      const unsigned order = read(first);
      const unsigned ties = __ballot_sync(~0u, inside && order == threshold);
      const bool wins_tie = order == threshold && __popc(ties & before) < equal;
      const bool chosen = inside && (order > threshold || wins_tie);
      const unsigned votes = __ballot_sync(~0u, chosen);
      if (chosen) to[wanted - 1 - __popc(votes & before)] = static_cast<std::int32_t>(first + lane);
      wanted -= __popc(votes);
      equal -= __popc(ties);
    }
  }

 private:
  static constexpr int kKept = 8;  // how many blocks' order_of() each lane keeps in registers

  /// Returns the order_of() of block `first` + lane; 0 past the last block.
  __device__ unsigned read(Index first) const {
    const Index block = first + threadIdx.x % 32;
    return block < blocks_ ? order_of(importance_[block]) : 0;
  }

  const float* importance_;
  Index blocks_;
  unsigned kept_[kKept];
};

/// Writes the numbers of a token's `count` most important blocks in descending order, then -1 for
/// each missing block. Of equally important blocks, the one of lower number is preferred. The
/// importance of the last block, the token's own, is taken to be `group`, as if each query head
/// gave it weight 1. One warp runs this function, and has itself written the importance of the
/// other blocks.
__device__ inline void choose_blocks(const SelectionCall& c, float* importance, Index blocks,
                                     std::int32_t* to) {
  const Index lane = threadIdx.x % 32, wanted = c.count < blocks ? c.count : blocks;
  for (Index i = wanted + lane; i < c.count; i += 32) to[i] = -1;
  if (lane == 0 && blocks > 0) importance[blocks - 1] = static_cast<float>(c.group);
  __syncwarp();
  const BlockOrders orders(importance, blocks);
  const unsigned threshold = orders.find_threshold(wanted);
  const Index above = orders.count_from(threshold + 1);
  orders.write(threshold, wanted - above, wanted, to);
}

/// Returns how many blocks of threads to launch for a kernel whose blocks take `work` items in
/// turn, each block with `floats` floats of scratch memory: one per item, but at most `most`, which
/// fill any GPU, and so few that their scratch memory takes at most 256 MiB, unless one block needs
/// more.
inline Index selecting_blocks(Index work, Index floats, Index most) {
  constexpr Index kMostFloats = Index{1} << 26;
  return std::min(work, std::clamp<Index>(kMostFloats / floats, 1, most));
}

}  // namespace maskctl::attention::cuda
