// In which order the blocks of the backward pass meet tiles of queries under a scattered mask.
#pragma once

#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"

namespace maskctl::attention::cuda::hopper {

struct KeyLists;

/// A tile of queries on the walk of a block.
struct KeyStep {
  int head;    // query head in the group of the key head
  int number;  // number of the tile of queries
  int after;   // how many blocks have the turn at its pieces of d_query before this block
  std::int32_t cells[4];  // the Cells that it opens: [rows of 64 keys][columns of 64 queries]
};

/// The walks of blocks that take turns, as kernels read them. Heads and batch entries with equal
/// planes share one set of walks.
struct KeyWalksView {
  const KeyStep* steps = nullptr;  // [sets, most_steps]; null: blocks walk in ascending order
  const int* begins = nullptr;     // [sets, most_parts + 1]: where each part's steps begin
  const int* parts = nullptr;      // [sets, tile_rows]: the first part of each tile of keys
  Index most_steps = 0, most_parts = 0;
  int tile_rows = 0;
  int batch = 1, heads = 1;  // batch entries and key heads with sets of their own; 1: all share

  constexpr Index set(int b, int kv_head) const {
    return Index{batch == 1 ? 0 : b} * heads + (heads == 1 ? 0 : kv_head);
  }
};

/// Lays out the walks for a mask whose open tiles are scattered. Blocks that walk in ascending
/// order would meet at the same tiles at the same time, and wait for each other: a mask with a
/// tenth of its blocks open took twice as long as in any order. Here a block meets first what the
/// blocks before it are predicted to have left first. Turns follow the order in which blocks start,
/// as elsewhere, so that a wrong prediction costs time and nothing else.
struct KeyWalks {
  KeyWalks() = default;
  /// `sizes`: of the tile rows of lists.mask.
  KeyWalks(const KeyLists& lists, const std::vector<TileRowSize>& sizes, Stream stream);

  KeyWalksView view;

 private:
  DeviceBuffer memory_;
};

}  // namespace maskctl::attention::cuda::hopper
