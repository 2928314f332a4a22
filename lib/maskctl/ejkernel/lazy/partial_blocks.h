// Numbers the partial blocks of masks: one number per content, in order of first appearance.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "maskctl/ejkernel/lazy/block_info.h"
#include "maskctl/ejkernel/lazy/tile_content.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/planes/band_key.h"

namespace maskctl::lazy {

/// The blocks of one plane, and the number of each partial one.
struct NumberedBlocks {
  TileMap tiles;
  std::vector<Index> first_partial;    // for each tile run, the partial blocks before it
  std::vector<std::uint32_t> numbers;  // one per partial block, row-major

  /// The number of block `tile` in the partial run `run`, one of tiles.runs.
  std::uint32_t number_of(const TileRun& run, Index tile) const;
  /// True when the cells are the same; both must have been numbered by the same BlockNumbers.
  friend bool same_blocks(const NumberedBlocks& a, const NumberedBlocks& b);
};

/// Numbers the partial blocks of one plane after another. Equal blocks are found by hash and
/// confirmed by their cells. Of each numbered block only its position in a plane is kept, plus as
/// many contents as fit into a fixed budget.
class BlockNumbers {
 public:
  BlockNumbers(Index q_block, Index kv_block) : q_block_(q_block), kv_block_(kv_block) {}

  NumberedBlocks add(PlanePtr plane);
  Index count() const { return static_cast<Index>(tiles_.size()); }
  /// `transposed`: for dkv.
  std::shared_ptr<const PartialBlocks> blocks(bool transposed) const;

  struct Tile {
    PlanePtr plane;
    Index row, column;
  };

 private:
  void number_row(const PlanePtr& plane, Index row, std::span<const std::int32_t> columns,
                  std::vector<std::uint32_t>& out);
  std::uint32_t number_band(const BandsPlane& plane, Tile tile);
  std::uint32_t number(TileContent content, Tile tile);
  bool holds(std::uint32_t number, const TileContent& content) const;
  TileContent content_at(const Tile& tile) const;

  Index q_block_, kv_block_;
  std::vector<Tile> tiles_;            // where each number appeared first
  std::vector<TileContent> contents_;  // contents of the first numbers
  std::size_t contents_size_ = 0;      // elements of all contents_
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  BandKeyMap<std::uint32_t> by_bands_;
};

}  // namespace maskctl::lazy
