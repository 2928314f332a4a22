// The order in which a kernel visits blocks, and what it loads next at each step of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/lazy/partial_blocks.h"

namespace maskctl::lazy {

/// The arrays of BlockInfo while they are filled, in the dtype that their largest value needs.
/// Everything is zero at first; mask_next is present when there is a partial block.
struct BlockArrays {
  Tensor block_mask, data_next;
  std::optional<Tensor> mask_next;

  struct Row {
    std::vector<std::int32_t> block_mask, data_next, mask_next;
    explicit Row(Index columns);
    void copy(std::size_t to, const Row& from, std::size_t place);
  };
  void set_row(Index slab, Index row, const Row& values);
};

/// One launch: the heads of a shard and the tile rows of a shard, visited (head, q, kv) or, for
/// dkv, (kv, head, q). At each step data_next is the kv block (dkv: the q block, counted from the
/// first row) of the first block at or after it that is not empty, mask_next the number of the
/// first partial one at or after it; past the last, of the first; 0 when there is none.
struct BlockWalk {
  std::vector<const NumberedBlocks*> heads;
  Range rows;
  Index columns = 0;
  bool is_dkv = false;

  /// Writes the rows of slabs first_slab + head.
  void fill(BlockArrays& out, Index first_slab) const;

  // Of the first head, without its empty blocks:

  /// Blocks that remain of the longest row (dkv: column).
  Index shrunk_extent() const;
  /// What remains of each row, packed to the left of shrunk_extent() zeros, and then `padded` long:
  /// with 0 in block_mask, with the last value elsewhere. dkv: of each column, packed to the
  /// bottom. Writes slab 0 from first_row: a row for each tile row, dkv `padded` rows.
  /// shrunk_extent() > 0.
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
