// Lists of the blocks of a mask, as block-sparse kernels take them: FlexAttention's BlockMask,
// FlashAttention-4, and block-sparse rows (BSR) as in FlashInfer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The blocks of each batch and head, classed as in these kernels; equal planes share a TileMap. A
/// block that the edge of the mask cuts is never full, because cells past the edge count as closed
/// (torch's create_block_mask pads with closed cells).
struct MaskBlocks {
  Index batch = 0, heads = 0, queries = 0, keys = 0;
  BlockSize size;
  std::vector<TileMap> distinct;
  std::vector<std::uint32_t> which;  // the map of (b, h) is distinct[which[b * heads + h]]

  const TileMap& of(Index plane) const { return distinct[which[as_size(plane)]]; }
  Index planes() const { return batch * heads; }
  Index rows() const { return ceil_div(queries, size.q); }
  Index columns() const { return ceil_div(keys, size.k); }
};
/// The blocks of a mask. Throws Error(kInvalidArgument) for sizes below 1.
MaskBlocks mask_blocks(const Mask& mask, BlockSize size);
/// The same blocks with queries and keys exchanged: each row is a block of keys and lists blocks of
/// queries, the order in which a backward pass goes through them.
MaskBlocks key_major(const MaskBlocks& blocks);

/// The blocks of one fill (full or partial). Row r of batch b and head h has the blocks in columns
/// indices[b, h, r, i] for i < counts[b, h, r], ascending. counts [B,H,R], indices [B,H,R,W],
/// int32.
struct BlockList {
  Tensor counts, indices;
};
enum class ListWidth : std::uint8_t {
  /// The width W of `indices` is the number of columns. After the listed columns of a row, its
  /// other columns follow in ascending order, as in torch.
  kColumns,
  /// The width W of `indices` is the length of the longest list, at least 1. Zeros fill shorter
  /// lists.
  kLongest,
};
/// The lists of all blocks of one fill. Throws Error(kLimit) when the indices take more than
/// max_bytes.
BlockList block_list(const MaskBlocks& blocks, Fill fill, ListWidth width, Index max_bytes);

/// All blocks that are not empty, as block-sparse rows: row r of plane p has the blocks in columns
/// indices[i] for indptr[p, r] <= i < indptr[p, r + 1], ascending. indptr is [R+1] for one plane,
/// else [B,H,R+1], and its offsets count through all planes; indices [N]; int32.
struct BlockRows {
  Tensor indptr, indices;
};
/// The block-sparse rows of a mask. Throws Error(kLimit) when the indices take more than max_bytes
/// or are too many for int32.
BlockRows block_rows(const MaskBlocks& blocks, Index max_bytes);

/// A list of blocks that was read, and how messages name its arrays. counts [R] or [B,H,R], indices
/// with one axis more, of any integer type.
struct NamedBlockList {
  std::string_view counts_name, indices_name;
  Tensor counts, indices;
  std::uint8_t value = 1;  // the entry of its blocks in the block map: 1 partial, 2 full
};
/// The block map [B,H,R,columns] uint8 that the lists together describe; a block in no list is 0.
/// All lists must have the same rows. Throws Error(kShape) for shapes that disagree;
/// Error(kFormat), naming the row, for a count or block out of range and a block out of order or
/// listed twice; Error(kLimit) for a map of more than max_bytes.
Tensor map_of_lists(std::span<const NamedBlockList> lists, Index columns, Index max_bytes);
/// The block map of block-sparse rows: 1 for the blocks that are listed, else 0.
Tensor map_of_rows(const BlockRows& rows, Index columns, Index max_bytes);
/// Checks that `transposed`, the map of lists whose rows are blocks of keys, is the transpose of
/// `map`. Throws Error(kFormat) naming the first row that is not.
void check_transposed(const Tensor& map, const Tensor& transposed);

}  // namespace maskctl
