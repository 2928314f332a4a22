// The order in which the kernels of Hopper GPUs take the tile rows of a mask.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"

namespace maskctl::attention::cuda::hopper {

/// The order of the tile rows (64 * `wide` rows each) of each table of a mask, those with the most
/// tiles first. The constructor waits for the GPU.
struct Schedule {
  Schedule() = default;
  /// `may_be_fine`: tile rows are of 64 rows where tiles of 128 x 128 would be mostly closed.
  Schedule(const MaskView& mask, Index rows, int wide, bool may_be_fine, Stream stream);

  const int* order() const { return reinterpret_cast<const int*>(memory.data()); }

  int tile_rows = 0;  // 0: there is no schedule
  bool is_fine = false;
  DeviceBuffer memory;  // the order, then the lengths of the tile rows
};

}  // namespace maskctl::attention::cuda::hopper
