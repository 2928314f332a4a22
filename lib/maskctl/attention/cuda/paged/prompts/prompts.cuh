// The prompts of a call (room.h) on the GPU, where kernels find out which sequences are prompts.
#pragma once

#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/base/index.h"

namespace maskctl::attention::cuda {

/// The prompts of a call, on the GPU.
struct Prompts {
  static constexpr Index kNone = -1;

  Index tokens = 0;  // room for copied tokens; 0: there are no prompts
  /// [sequences]: the index of the copied token for the first key of the sequence that is read;
  /// kNone if the sequence is not copied.
  Index* begins = nullptr;
  int* owners = nullptr;  // [tokens / 64]: the sequence that these 64 tokens belong to, or kNone
  /// [sequences]: whether a copied value of the sequence is infinite or NaN. In a tile, such a
  /// value would make even rows NaN that do not see it, so the sequence is decoded instead.
  int* are_odd = nullptr;

  /// Whether the rows of sequence n are computed in tiles.
  __device__ bool have(Index n) const { return tokens > 0 && begins[n] != kNone && !are_odd[n]; }
};

}  // namespace maskctl::attention::cuda
