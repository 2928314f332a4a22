// What the backward kernel adds to d_query, on its way to memory.
#pragma once

#include "maskctl/attention/cuda/hopper/backward_call.cuh"

namespace maskctl::attention::cuda::hopper {

/// A warp that adds the sums of one warpgroup.
template <class Shape>
class BackwardAdder {
  using Memory = BackwardMemory<Shape>;

 public:
  __device__ BackwardAdder(const BackwardCall& call, Memory& memory, KeyTile tile, int group)
      : c(call), s(memory), tile_(tile), group_(group) {}

  __device__ void run() {
    const bool is_first = threadIdx.x % 32 == 0;
    await_previous_kernel();
    for (;;) {
      arrive(kSumsOfFirstTaken + group_, 128 + 32);
      if (is_first && last_ >= 0) pass_turn();
      __syncwarp();
      sync(kSumsOfFirstThere + group_, 128 + 32);
      const typename Memory::Goal goal = s.goals[group_];
      if (goal.piece < 0) return;
      if (is_first) add(goal);
      __syncwarp();
    }
  }

 private:
  __device__ void add(const typename Memory::Goal& goal) {
    float* const sums = c.d_query + Index{goal.piece} * kPieceFloats;
    if (c.turns) await_number(c.turns + goal.piece, goal.after);
    if (c.turns && goal.after == 0) {
      store_floats(sums, s.d_query[group_], kPieceBytes);
    } else {
      add_floats(sums, s.d_query[group_], kPieceBytes);
    }
    commit_stores();
    wait_for_stores<0>();
    if (c.turns) last_ = goal.piece;
  }
  /// Once the sums are in memory.
  __device__ void pass_turn() {
    finish_stores();
    tell_number(c.turns + last_, tile_.number + 1);
  }

  const BackwardCall& c;
  Memory& s;
  const KeyTile tile_;
  const int group_;
  int last_ = -1;  // the piece that was added to last, in a call whose tiles take turns
};

}  // namespace maskctl::attention::cuda::hopper
