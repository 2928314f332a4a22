// The work of the blocks of the backward pass on Hopper GPUs. A block takes one tile of keys;
// several blocks share a tile with many queries (sinks, or columns that all queries see).
#pragma once

#include <algorithm>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/softmax/hopper/key_walks.h"
#include "maskctl/attention/cuda/tiles/device_tiles.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention::cuda::hopper {

/// A tile of keys: its batch entry, its key head, and its number in that head.
struct KeyTile {
  int batch, kv_head, number;
};

/// A part of the work on a tile of keys: its tiles of queries [begin, end), numbered consecutively
/// over the query heads of the group.
struct KeyPart {
  KeyTile tile;
  int begin, end;
  int nth, of;  // part `nth`, from 0, of the tile's `of` parts
  int sums;     // index of the part's sums; those of a tile's parts are consecutive
};

/// The number of parts may exceed the number of tiles of keys by at most this.
constexpr Index most_cuts(Index multiprocessors) { return 16 * multiprocessors; }
/// About how many tiles of queries a part has at most, if the `lists` tiles of keys have `total`
/// tiles of queries together. The number is small enough that the last block does not keep the
/// others waiting, and that a few tiles of keys occupy all multiprocessors. It is large enough that
/// the fixed time of a part, about that of four tiles, does not matter.
constexpr Index part_length(Index total, Index lists, Index multiprocessors) {
  constexpr Index kShortest = 8;
  const Index twice_the_mean = 2 * ceil_div(total, lists);
  return std::max({kShortest, ceil_div(total, most_cuts(multiprocessors)),
                   std::min(twice_the_mean, ceil_div(total, multiprocessors))});
}
/// Into how many parts a tile of keys with `list` tiles of queries is divided: one if `list` is at
/// most 1.5 * part_length. In total there are at most most_cuts() more parts than tiles of keys,
/// since part_length is at least total / most_cuts().
constexpr Index parts_of(Index list, Index part_length) {
  return 2 * list > 3 * part_length ? ceil_div(list, part_length) : 1;
}

/// The parts that the blocks of the backward pass compute, in order; it serves any number of calls
/// under one mask.
struct KeyOrder {
  KeyOrder() = default;
  /// `is_fine`: tiles have 64 keys instead of 128.
  KeyOrder(const DeviceTiles& mask, const Dims& d, bool is_fine, Stream stream);

  /// All parts, in the order for blocks that take turns, or in the order for blocks that do not.
  const KeyPart* parts(bool take_turns) const { return list(take_turns ? 0 : 1); }
  /// Only those parts whose tile of keys has several parts, ordered by KeyPart::sums.
  const KeyPart* split(bool take_turns) const { return list(take_turns ? 2 : 3); }

  /// The walks of blocks that take turns.
  const KeyWalksView& walks() const { return walks_.view; }

  int count = 0;        // number of all parts
  int split_count = 0;  // number of those parts whose tile of keys has several
  bool is_fine = false;

 private:
  const KeyPart* list(Index n) const {
    return reinterpret_cast<const KeyPart*>(memory_.data()) + n * capacity_;
  }

  KeyWalks walks_;
  Index capacity_ = 0;  // how many parts each list has room for
  DeviceBuffer memory_;
};

}  // namespace maskctl::attention::cuda::hopper
