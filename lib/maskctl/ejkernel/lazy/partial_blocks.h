// Numbers the partial blocks of masks: equal blocks share a number, in the order in which they
// first appear.
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

/// The blocks of one plane, and the number of each partial block; equal partial blocks share a
/// number.
struct NumberedBlocks {
  TileMap tiles;
  /// for each run (adjacent tiles of the same class) in tiles.runs: the number of partial blocks
  /// before it
  std::vector<Index> first_partial;
  std::vector<std::uint32_t> numbers;  // for each partial block, in row-major order: its number

  /// Returns the number of the partial block in column `tile` of `run`, an element of tiles.runs.
  std::uint32_t number_of(const TileRun& run, Index tile) const;
  /// Whether all cells of two planes are equal. The same BlockNumbers must have numbered the blocks
  /// of both.
  friend bool same_blocks(const NumberedBlocks& a, const NumberedBlocks& b);
};

/// Numbers the partial blocks of planes, which are added one after another. Equal blocks are found
/// by hash and then compared. For each number, only the position of its block in a plane is stored,
/// and for the first ones (up to a fixed budget) also the cells.
class BlockNumbers {
 public:
  BlockNumbers(Index q_block, Index kv_block) : q_block_(q_block), kv_block_(kv_block) {}

  NumberedBlocks add(PlanePtr plane);
  Index count() const { return static_cast<Index>(tiles_.size()); }
  /// Returns the distinct partial blocks. `transposed`: as [bk, bq], for the dK/dV kernel.
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
  std::vector<Tile> tiles_;            // for each number: where its block first appeared
  std::vector<TileContent> contents_;  // for the first few numbers: the cells of the block
  std::size_t contents_size_ = 0;      // total size of contents_, in elements
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  BandKeyMap<std::uint32_t> by_bands_;
};

}  // namespace maskctl::lazy
