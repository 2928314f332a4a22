// The warps of the backward kernel that add its sums to d_query in memory.
#pragma once

#include "maskctl/attention/cuda/hopper/backward_call.cuh"

namespace maskctl::attention::cuda::hopper {

/// A warp that adds the sums of one warpgroup.
template <class Shape>
class BackwardAdder {
  using Memory = BackwardMemory<Shape>;

 public:
  __device__ BackwardAdder(const BackwardCall& call, Memory& memory, KeyTile tile, int group)
      : call_(call), memory_(memory), tile_(tile), group_(group) {}

  /// One loop with turns and one without: a loop for both has a longer path, which products wait
  /// for at 256 columns and in small tiles.
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
    int last = -1;  // the piece that was added to last
    await_previous_kernel();
    for (;;) {
      arrive(kSumsOfFirstTaken + group_, 128 + 32);
      if (kTakesTurns && is_first && last >= 0) pass_turn(last);
      __syncwarp();
      sync(kSumsOfFirstThere + group_, 128 + 32);
      const typename Memory::Goal goal = memory_.goals[group_];
      if (goal.piece < 0) return;
      if (is_first) {
        add<kTakesTurns>(goal);
        last = goal.piece;
      }
      __syncwarp();
    }
  }
  template <bool kTakesTurns>
  __device__ __forceinline__ void add(const typename Memory::Goal& goal) {
    float* const sums = call_.d_query + Index{goal.piece} * kPieceFloats;
    if (kTakesTurns) await_number(call_.turns + goal.piece, goal.after);
    if (kTakesTurns && stores_first(Shape::kDim) && goal.after == 0) {
      store_floats(sums, memory_.d_query[group_], kPieceBytes);
    } else {
      add_floats(sums, memory_.d_query[group_], kPieceBytes);
    }
    commit_stores();
    wait_for_stores<0>();
  }
  /// Passes the turn on, once the sums are in memory.
  __device__ void pass_turn(int piece) {
    finish_stores();
    tell_number(call_.turns + piece, tile_.number + 1);
  }

  const BackwardCall& call_;
  Memory& memory_;
  const KeyTile tile_;
  const int group_;
};

}  // namespace maskctl::attention::cuda::hopper
