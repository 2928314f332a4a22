// The warps of the backward kernel that add sums to d_query in global memory.
#pragma once

#include "maskctl/attention/cuda/softmax/hopper/backward_call.cuh"

namespace maskctl::attention::cuda::hopper {

/// A warp that adds the d_query sums of one warpgroup.
template <class Shape>
class BackwardAdder {
  using Memory = BackwardMemory<Shape>;

 public:
  __device__ BackwardAdder(const BackwardCall& call, Memory& memory, KeyTile tile, int group)
      : call_(call), memory_(memory), tile_(tile), group_(group) {}

  /// Calls one loop for blocks that take turns and another for blocks that do not. A common loop
  /// would be slower, and the warpgroups that compute products would wait for it (for head
  /// dimension 256, and with tiles of 64 x 64).
  __device__ void run() {
    if (call_.turns) {
      add_all<true>();
    } else {
      add_all<false>();
    }
  }

 private:
  template <bool kTakesTurns>
  __device__ __forceinline__ void add_all() {
    const bool is_first = threadIdx.x % 32 == 0;
    await_previous_kernel();
    arrive(kSumsOfFirstTaken + group_, 128 + 32);
    for (;;) {
      sync(kSumsOfFirstThere + group_, 128 + 32);
      const typename Memory::Goal goal = memory_.goals[group_];
      if (goal.piece < 0) return;
      if (is_first) add<kTakesTurns>(goal);
      __syncwarp();
      arrive(kSumsOfFirstTaken + group_, 128 + 32);
      if (kTakesTurns && is_first && goal.is_last) pass_turn(goal);
      __syncwarp();
    }
  }
  template <bool kTakesTurns>
  __device__ __forceinline__ void add(const typename Memory::Goal& goal) {
    float* const sums = call_.d_query + Index{goal.piece} * kPieceFloats;
    if (kTakesTurns && goal.is_first) await_number(call_.turns + goal.piece, goal.after);
    if (kTakesTurns && stores_first(Shape::kDim) && goal.after == 0) {
      store_floats(sums, memory_.d_query[group_], kPieceBytes);
    } else {
      add_floats(sums, memory_.d_query[group_], kPieceBytes);
    }
    commit_stores();
    wait_for_stores<0>();
  }
  /// Waits until this block's sums are in global memory, then gives the turn at the pieces of
  /// which `last` was the last to the next block.
  __device__ void pass_turn(const typename Memory::Goal& last) {
    finish_stores();
    tell_number(call_.turns + last.piece - (Shape::kPieces - 1),
                (call_.walks.steps ? last.after : tile_.number) + 1);
  }

  const BackwardCall& call_;
  Memory& memory_;
  const KeyTile tile_;
  const int group_;
};

}  // namespace maskctl::attention::cuda::hopper
