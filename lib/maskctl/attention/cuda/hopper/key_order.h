// What the blocks of the backward pass on Hopper GPUs do: each has a tile of keys, and tiles with
// many queries (sinks, columns that all see) are several blocks' work.
#pragma once

#include <algorithm>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"
#include "maskctl/attention/softmax/softmax_problem.h"

namespace maskctl::attention::cuda::hopper {

/// Which tile of keys of which key head.
struct KeyTile {
  int batch, kv_head, number;
};

/// A tile of keys with those of its tiles of queries that have the numbers `begin` .. `end` - 1,
/// counted on from one head of the group to the next.
struct KeyPart {
  KeyTile tile;
  int begin, end;
  int nth, of;  // the part of how many of its tile
  int sums;     // where it leaves its sums: those of the parts of a tile follow each other
};

/// How many tiles of queries a part has at most, about, where `lists` tiles of keys have `total`
/// together: so few that the last block does not keep the others waiting, and that few tiles of
/// keys occupy all multiprocessors; so many that what a part costs beside them, about the time of
/// four, does not count.
inline constexpr Index kMultiprocessors = 132, kMostCuts = 16 * kMultiprocessors;
constexpr Index part_length(Index total, Index lists) {
  constexpr Index kShortest = 8;
  const Index twice_the_mean = 2 * ceil_div(total, lists);
  return std::max({kShortest, ceil_div(total, kMostCuts),
                   std::min(twice_the_mean, ceil_div(total, kMultiprocessors))});
}
/// How many parts a list of some length has. Of several lists these are at most kMostCuts more than
/// there are lists, since part_length is no less than total / kMostCuts.
constexpr Index parts_of(Index list, Index part_length) {
  return 2 * list > 3 * part_length ? ceil_div(list, part_length) : 1;
}

/// The blocks of a call for a mask, for any number of calls. Waits for the GPU.
struct KeyOrder {
  KeyOrder() = default;
  /// `is_fine`: tiles have 64 keys where they would have 128.
  KeyOrder(const MaskView& by_key, const Dims& d, bool is_fine, Stream stream);

  /// In one of two orders: for blocks that take turns, and for those that do not.
  const KeyPart* parts(bool take_turns) const { return list(take_turns ? 0 : 1); }
  /// By `sums`: the parts of tiles that have several.
  const KeyPart* split(bool take_turns) const { return list(take_turns ? 2 : 3); }

  int count = 0;        // of parts
  int split_count = 0;  // of those of tiles that have several
  bool is_fine = false;

 private:
  const KeyPart* list(Index n) const {
    return reinterpret_cast<const KeyPart*>(memory_.data()) + n * capacity_;
  }

  Index capacity_ = 0;  // of each list
  DeviceBuffer memory_;
};

}  // namespace maskctl::attention::cuda::hopper
