// What kernels of attention over listed blocks read beside the arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/problems/block_problem.h"

namespace maskctl::attention::cuda {

/// Where the keys and the lists of a token are. Tokens are counted through the batch: [B,T].
struct TokenOffsets {
  Index first = -1;               // first token of its sequence; -1: it is in none and sees nothing
  Index indices = 0, counts = 0;  // its rows in the lists
};

/// The lists of blocks on the GPU, as they were given.
struct BlockLists {
  const TokenOffsets* offsets;  // [B,T]
  const std::int32_t* indices;  // [rows,Hkv,width]
  const std::int32_t* counts;   // [rows,Hkv]; null: `count` for every token
  Index width, count, heads;
  Index block_size;
  bool once;  // a block that is listed twice counts once
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

/// A token, counted from the start of its sequence, that sees some block.
struct KeyReader {
  std::int32_t token, times;
};
/// Some keys of one block, a part of the readers of that block, and where the sums over them go.
inline constexpr Index kTileKeys = 64;
struct KeyTile {
  Index first = 0;  // first token of the sequence, in [B,T]
  Range keys;       // counted from `first`, kTileKeys at most
  Index u = 0;
  Range readers;    // indices into readers()
  Index slot = -1;  // where partial sums go; -1: the sums are the gradients
};
/// The partial sums of some keys.
struct SplitTile {
  Index first_key = 0, keys = 0, u = 0;  // first_key in [B,T]
  Range slots;
};

/// A BlockPlan and, for the backward pass, the tokens that see each block.
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

/// Where the means of a token's sequence are.
struct MeanOffsets {
  Index first = -1;  // first token of its sequence, in [B,T]; -1: it is in none
  Index means = 0;   // first mean of its sequence, in [B,C]
};

class SelectionPlan {
 public:
  SelectionPlan(const SelectionProblem& problem, Stream stream);
  const MeanOffsets* offsets() const { return device_offsets_.data(); }
  /// The blocks of the longest sequence, the last one not necessarily whole.
  Index most_blocks() const { return most_blocks_; }

 private:
  std::vector<MeanOffsets> offsets_;
  DeviceArray<MeanOffsets> device_offsets_;
  Index most_blocks_ = 1;
};

}  // namespace maskctl::attention::cuda
