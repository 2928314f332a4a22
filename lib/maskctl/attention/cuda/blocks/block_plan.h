// The plans of attention over listed blocks: lists in GPU memory, and how the backward pass divides
// its work.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/problems/block_problem.h"

namespace maskctl::attention::cuda {

/// For one token of [B,T]: where the keys of its sequence begin, and which rows of the lists belong
/// to the token.
struct TokenOffsets {
  Index first = -1;               // index in [B,T] of the sequence's first token; -1: no sequence
  Index indices = 0, counts = 0;  // the token's rows in BlockLists::indices and counts
};

/// The caller's lists of blocks, copied to the GPU. They may have duplicates.
struct BlockLists {
  const TokenOffsets* offsets;  // [B,T]
  const std::int32_t* indices;  // [rows,Hkv,width]
  const std::int32_t* counts;   // [rows,Hkv]: blocks that a row uses; null: all use `count`
  Index width, count, heads;
  Index block_size;
  bool once;  // true: a block that is in a list several times counts once
};

class BlockPlan {
 public:
  BlockPlan(const BlockProblem& problem, Stream stream);
  const BlockLists& lists() const { return lists_; }

 private:
  std::vector<TokenOffsets> offsets_;
  DeviceArray<TokenOffsets> device_offsets_;
  DeviceArray<std::int32_t> indices_, counts_;
  BlockLists lists_{};
};

/// A token that sees a block of keys: its index in its sequence, and how often its list names the
/// block.
struct KeyReader {
  std::int32_t token, times;
};
inline constexpr Index kTileKeys = 64;
/// Work of a block of threads in the backward pass: up to kTileKeys keys of one block of keys, and
/// some of the tokens that see them, over which it sums the gradients of the keys and values.
struct KeyTile {
  Index first = 0;  // index in [B,T] of the sequence's first token
  Range keys;       // at most kTileKeys keys, counted from the token `first`
  Index u = 0;
  Range readers;    // indices into BlockGradientPlan::readers()
  Index slot = -1;  // row of KeySums::partial for its sums; -1: they are the whole gradients
};
/// Keys whose readers (tokens that see them) are split over several KeyTiles, each with partial
/// sums in a slot of its own. add_partial_sums() adds these up.
struct SplitTile {
  Index first_key = 0, keys = 0, u = 0;  // first_key: index in [B,T]; u: key head
  Range slots;
};

/// A BlockPlan and, for the backward pass, the tokens that see each block of keys.
class BlockGradientPlan {
 public:
  BlockGradientPlan(const BlockProblem& problem, Stream stream);
  const BlockLists& lists() const { return plan_.lists(); }
  const KeyReader* readers() const { return device_readers_.data(); }
  const KeyTile* tiles() const { return device_tiles_.data(); }
  Index tile_count() const { return static_cast<Index>(tiles_.size()); }
  const SplitTile* splits() const { return device_splits_.data(); }
  Index split_count() const { return static_cast<Index>(splits_.size()); }
  Index slot_count() const { return slots_; }

 private:
  void add_tiles(const KeyTile& block, Index readers_of_tile);

  BlockPlan plan_;
  std::vector<KeyReader> readers_;
  std::vector<KeyTile> tiles_;
  std::vector<SplitTile> splits_;
  Index slots_ = 0;
  DeviceArray<KeyReader> device_readers_;
  DeviceArray<KeyTile> device_tiles_;
  DeviceArray<SplitTile> device_splits_;
};

/// For one token: where the mean keys of its sequence's blocks begin.
struct MeanOffsets {
  Index first = -1;  // index in [B,T] of the sequence's first token; -1: no sequence
  Index means = 0;   // index in [B,C] of the sequence's first mean key
};

class SelectionPlan {
 public:
  SelectionPlan(const SelectionProblem& problem, Stream stream);
  const MeanOffsets* offsets() const { return device_offsets_.data(); }
  /// The number of blocks of the longest sequence; its last block may be incomplete.
  Index most_blocks() const { return most_blocks_; }

 private:
  std::vector<MeanOffsets> offsets_;
  DeviceArray<MeanOffsets> device_offsets_;
  Index most_blocks_ = 1;
};

}  // namespace maskctl::attention::cuda
