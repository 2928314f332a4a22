// Softmax attention on the tensor cores of Hopper GPUs: 16-bit arrays, head dimensions up to 256,
// any mask.
#pragma once

#include <string>

#include "maskctl/attention/cuda/softmax/hopper/schedule.h"
#include "maskctl/attention/cuda/softmax/params.h"

namespace maskctl::attention::cuda::hopper {

/// Why this kernel cannot take a call whose arrays are on the GPU, as in "256 is the largest head
/// dimension"; empty when it can.
std::string unsupported_forward(const SoftmaxParams& p);

/// Returns the order in which blocks take tile rows, for calls with this mask, these dimensions and
/// this dtype; empty where these kernels take no such call.
Schedule forward_schedule(const DeviceTiles& tiles, const Dims& d, DType dtype, Stream stream);
/// Returns the order in which blocks take tile rows, for one call. A kernel writes the order to
/// memory of the workspace, and the host does not wait for this kernel. `is_fine`: tile rows have
/// 64 rows; only for head dimensions up to 128.
TileRowOrder forward_order(Workspace& workspace, const MaskView& by_query, const Dims& d,
                           bool is_fine);

struct ForwardResults {
  HeadsView out;    // [batch, queries, q_heads, value_dim]
  float* lse;       // see launch_forward in softmax/kernels.h
  float scale = 1;  // `out` is multiplied by it
};

/// Computes softmax attention. `means`: see launch_forward in softmax/kernels.h.
void forward(Workspace& workspace, const SoftmaxParams& p, const TileRowOrder& order,
             const float* means, const ForwardResults& results);

}  // namespace maskctl::attention::cuda::hopper
