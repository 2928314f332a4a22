// What the blocks of the backward pass on Hopper GPUs do: each takes a tile of keys, and tiles with
// many queries (sinks, columns that all see) are shared by several blocks.
#pragma once

#include <algorithm>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda::hopper {

/// A tile of the keys of one key head: the batch entry, the head, and the number of the tile.
struct KeyTile {
  int batch, kv_head, number;
};

/// A part of a tile of keys: its tiles of queries `begin` .. `end` - 1, numbered on from one head
/// of the group to the next.
struct KeyPart {
  KeyTile tile;
  int begin, end;
  int nth, of;  // this is part `nth` of the tile's `of` parts
  int sums;     // index of its sums: the parts of a tile follow each other
};

/// About how many tiles of queries a part has at most, where `lists` tiles of keys have `total`
/// together: so few that the last block does not keep the others waiting, and that even few tiles
/// of keys occupy all multiprocessors; so many that the fixed cost of a part, about the time of
/// four tiles, does not matter.
inline constexpr Index kMultiprocessors = 132, kMostCuts = 16 * kMultiprocessors;
constexpr Index part_length(Index total, Index lists) {
  constexpr Index kShortest = 8;
  const Index twice_the_mean = 2 * ceil_div(total, lists);
  return std::max({kShortest, ceil_div(total, kMostCuts),
                   std::min(twice_the_mean, ceil_div(total, kMultiprocessors))});
}
/// How many parts a list of this length has. Several lists have at most kMostCuts more parts than
/// there are lists, since part_length is no less than total / kMostCuts.
constexpr Index parts_of(Index list, Index part_length) {
  return 2 * list > 3 * part_length ? ceil_div(list, part_length) : 1;
}

/// The blocks of calls under one mask, for any number of calls. Making it waits for the GPU.
struct KeyOrder {
  KeyOrder() = default;
  /// `is_fine`: tiles have 64 keys where they would have 128.
  KeyOrder(const MaskView& by_key, const Dims& d, bool is_fine, Stream stream);

  /// All parts, in one of two orders: for blocks that take turns, and for blocks that do not.
  const KeyPart* parts(bool take_turns) const { return list(take_turns ? 0 : 1); }
  /// The parts of tiles that have several, by `sums`.
  const KeyPart* split(bool take_turns) const { return list(take_turns ? 2 : 3); }

  int count = 0;        // all parts
  int split_count = 0;  // parts of tiles that have several
  bool is_fine = false;

 private:
  const KeyPart* list(Index n) const {
    return reinterpret_cast<const KeyPart*>(memory_.data()) + n * capacity_;
  }

  Index capacity_ = 0;  // parts that each list has room for
  DeviceBuffer memory_;
};

}  // namespace maskctl::attention::cuda::hopper
