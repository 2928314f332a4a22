// For walks with gates on the channels of `from`: a kernel that runs before the walk and prepares
// the decayed rows and the scores of all chunks in parallel.
#pragma once

#include <cstdint>

#include "maskctl/kernels/cuda/linear/linear_walk.h"

namespace maskctl::attention::cuda::hopper {

/// L_t[x] is the decay of channel x from the beginning of a chunk to its step t. Rows and scores
/// are rounded to the element type T of the walk's arrays. `width` is 64 or 128 channels: rows are
/// padded with zeros past the channels of `from`.
struct GatedChunks {
  void* read = nullptr;             // L_t * read_t: [chunks, heads, 64, width] of T
  void* write = nullptr;            // scale * L_last / L_t * write_t, same shape and type
  std::uint32_t* scores = nullptr;  // in wgmma fragments: [chunks, heads, 4, 128 threads, 4 pairs]
  std::uint32_t* low_scores = nullptr;  // what rounding left of them, if the walk goes backwards
  float* decays = nullptr;              // L_last: [chunks, heads, width]
};

/// Launches the kernel. The returned arrays belong to the workspace and are valid until its current
/// scope ends.
GatedChunks gate_chunks(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk,
                        int width);

}  // namespace maskctl::attention::cuda::hopper
