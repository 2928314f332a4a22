// The order in which the kernels of Hopper GPUs take the tile rows of a mask.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"

namespace maskctl::attention::cuda::hopper {

/// Tile rows of 64 x `wide` rows, for each table of a mask: the longest first.
struct Schedule {
  Schedule() = default;
  Schedule(const MaskView& mask, Index rows, int wide, Stream stream);

  const int* order() const { return reinterpret_cast<const int*>(memory.data()); }

  int tile_rows = 0;    // 0: there is none
  DeviceBuffer memory;  // order, then what it was made of
};

}  // namespace maskctl::attention::cuda::hopper
