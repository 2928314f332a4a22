// The order in which a kernel visits blocks, and what it loads next at each step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/ejkernel/lazy/partial_blocks.h"

namespace maskctl::lazy {

/// The arrays of BlockInfo while they are being filled, in the dtype that their largest value
/// needs. Initially zero; mask_next is present when there is a partial block.
struct BlockArrays {
  Tensor block_mask, data_next;
  std::optional<Tensor> mask_next;

  struct Row {
    std::vector<std::int32_t> block_mask, data_next, mask_next;
    explicit Row(Index columns);
    void copy(std::size_t to, const Row& from, std::size_t at);
  };
  void set_row(Index slab, Index row, const Row& values);
};

/// One launch: the heads of one shard and the tile rows of one shard, visited in the order (head,
/// q, kv) or, for dkv, (kv, head, q). At each step, data_next is the kv block (dkv: the q block,
/// counted from the first row) of the first non-empty block at or after the step, and mask_next is
/// the number of the first partial block at or after it. Past the last such block, each is that of
/// the first; 0 when there is none.
struct BlockWalk {
  std::vector<const NumberedBlocks*> heads;
  Range rows;
  Index columns = 0;
  bool is_dkv = false;

  /// Writes the rows of slabs first_slab + head for all heads.
  void fill(BlockArrays& out, Index first_slab) const;

  // Shrinking: the first head without its empty blocks.

  /// The number of blocks that remain in the longest row (dkv: column).
  Index shrunk_extent() const;
  /// Packs the remaining blocks of each row to the left of shrunk_extent() columns, filled up with
  /// zeros, then extends the row to `padded`: with 0 in block_mask, with the last value elsewhere.
  /// For dkv, packs each column to the bottom. Writes slab 0 from first_row on: one row per tile
  /// row, for dkv `padded` rows. Requires shrunk_extent() > 0.
  void fill_shrunk(BlockArrays& out, Index first_row, Index padded) const;

 private:
  void pack_rows(BlockArrays& out, Index first_row, Index padded) const;
  void pack_columns(BlockArrays& out, Index first_row, Index padded) const;
  template <typename RowDone>
  void walk_rows(const RowDone& done) const;
  template <typename RowDone>
  void walk_columns(const RowDone& done) const;
};

}  // namespace maskctl::lazy
