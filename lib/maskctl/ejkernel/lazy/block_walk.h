// The order in which a kernel visits the blocks, and what it prefetches at each step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/ejkernel/lazy/partial_blocks.h"

namespace maskctl::lazy {

/// The arrays of BlockInfo while they are filled, each in the smallest dtype for its values.
/// Initially 0; mask_next exists only if there is a partial block.
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

/// One kernel launch: the heads and tile rows of one shard, visited in the order (head, q, kv) or,
/// for dkv, (kv, head, q). At each step, data_next is the kv block (dkv: the q block, relative to
/// the first row) of the first nonempty block at or after the step. mask_next is the number of the
/// first partial block at or after the step. After the last such block, both wrap around to the
/// first one; 0 if there is none.
struct BlockWalk {
  std::vector<const NumberedBlocks*> heads;
  Range rows;
  Index columns = 0;
  bool is_dkv = false;

  /// Writes the rows of all heads; head h goes to index first_slab + h of the first axis.
  void fill(BlockArrays& out, Index first_slab) const;

  // Functions for a shrunk grid, which leaves out empty blocks. They use only the first head.

  /// The largest number of nonempty blocks in any row (dkv: column).
  Index shrunk_extent() const;
  /// Packs the nonempty blocks of each row to the left into shrunk_extent() columns, padded with
  /// zeros. Then extends each row to `padded` columns: block_mask with 0, the other arrays with
  /// their last value. For dkv, packs each column to the bottom instead. Writes to index 0 of the
  /// first axis, beginning at first_row: one row per row of blocks or, for dkv, `padded` rows.
  /// Requires shrunk_extent() > 0.
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
