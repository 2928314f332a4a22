// Copies of arrays of any size between ordinary host memory and the GPU.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention::cuda {

// The copy engine of a GPU reads and writes pinned memory only. For other memory, the driver copies
// through a pinned buffer, with one thread. These functions use pinned pieces instead, which
// several threads fill or empty while the engine copies others. Pieces are kept until the process
// ends, since pinning memory takes longer than copying it.

// A host array may be a slice of a larger one along one axis. On the GPU, its elements have no
// gaps.

/// copy_to_device() for such an array. Throws Error(kUnsupported) for other gaps.
void stage_to_device(void* to, const TensorView& from, Stream stream);
/// copy_to_host() for such an array. Throws as stage_to_device() does.
void stage_to_host(const MutableTensorView& to, const void* from, Stream stream);

}  // namespace maskctl::attention::cuda
