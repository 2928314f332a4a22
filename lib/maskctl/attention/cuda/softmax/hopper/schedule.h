// The order in which kernels for Hopper GPUs work on the tile rows of a mask.
#pragma once

#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"

namespace maskctl::attention::cuda::hopper {

/// For each table of a mask, its tile rows in the order in which blocks take them: those with the
/// most open tiles first. A tile row has 64 * `wide` rows.
struct TileRowOrder {
  /// How many ints `memory` must have room for.
  static Index ints(const MaskView& mask, Index rows, int wide);
  TileRowOrder() = default;
  /// Launches a kernel that writes the order to `memory`.
  TileRowOrder(const MaskView& mask, Index mask_rows, int wide, int* memory, Stream stream);

  const int* rows = nullptr;  // for each table, the numbers of its tile rows
  int tile_rows = 0;          // number of tile rows of each table; 0: there is no order
  bool is_fine = false;
};

/// The order of tile rows for a mask that does not change between calls, made on the host.
struct Schedule {
  Schedule() = default;
  /// If `may_be_fine`, tile rows have only 64 rows when tiles of 128 x 128 would be mostly closed.
  Schedule(const DeviceTiles& tiles, TileOrder tile_order, int wide, bool may_be_fine,
           Stream stream);

  TileRowOrder order;
  /// [tables, tile rows]: the length of each tile row. A tile row has `wide` rows of 64 x 64 tiles;
  /// its length is the number of open tiles in the longest of them.
  std::vector<int> lengths;
  const int* lengths_there() const { return memory.data() + lengths.size(); }

  DeviceArray<int> memory;  // the order, then the lengths
};

}  // namespace maskctl::attention::cuda::hopper
