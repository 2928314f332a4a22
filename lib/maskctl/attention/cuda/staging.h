// Copies of large arrays between ordinary host memory and the GPU.
#pragma once

#include <span>

#include "maskctl/attention/cuda/device.h"

namespace maskctl::attention::cuda {

// The copy engine of a GPU reads and writes pinned memory only. For other memory, the driver copies
// through a pinned buffer, with one thread. These functions use pinned pieces instead, which
// several threads fill or empty while the engine copies others. Pieces are kept until the process
// ends, since pinning memory takes longer than copying it.

/// copy_to_device() for arrays of any size.
void stage_to_device(void* to, std::span<const std::byte> from, Stream stream);
/// copy_to_host() for arrays of any size.
void stage_to_host(std::span<std::byte> to, const void* from, Stream stream);

}  // namespace maskctl::attention::cuda
