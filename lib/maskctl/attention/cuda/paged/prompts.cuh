// Attention of prompts (see prompts.h) on the GPU, where kernels find out which sequences are
// prompts.
#pragma once

#include "maskctl/attention/cuda/paged/prompts.h"
#include "maskctl/attention/cuda/paged/source.cuh"

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

/// Computes the rows of the prompts. If the call may have prompts, all other rows become zero.
Prompts attend_prompts(Workspace& workspace, const PagedProblem& problem, const PagedCall& call,
                       const PagedPlan& plan, const Source& source, AnyResult out);

}  // namespace maskctl::attention::cuda
