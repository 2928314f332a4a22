// Lists of the blocks of a mask, as block-sparse kernels take them: FlexAttention's BlockMask,
// FlashAttention-4, and block-sparse rows (BSR), as of FlashInfer.
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

/// The blocks of each batch and head, those of equal planes once, as these kernels class them: a
/// block that the edge of the mask cuts is never full, for cells past the edge are closed (torch's
/// create_block_mask pads with closed cells).
struct MaskBlocks {
  Index batch = 0, heads = 0, queries = 0, keys = 0;
  BlockSize size;
  std::vector<TileMap> distinct;
  std::vector<std::uint32_t> which;  // of batch b and head h: entry b * heads + h

  const TileMap& of(Index plane) const { return distinct[which[as_size(plane)]]; }
  Index planes() const { return batch * heads; }
  Index rows() const { return ceil_div(queries, size.q); }
  Index columns() const { return ceil_div(keys, size.k); }
};
/// Throws Error(kInvalidArgument) for sizes below 1.
MaskBlocks mask_blocks(const Mask& mask, BlockSize size);
/// The same blocks by rows of key blocks, which list query blocks: what a backward pass walks.
MaskBlocks key_major(const MaskBlocks& blocks);

/// The blocks of one fill: in row r the columns indices[b, h, r, i] for i < counts[b, h, r], which
/// ascend. counts [B,H,R], indices [B,H,R,W], int32.
struct BlockList {
  Tensor counts, indices;
};
enum class ListWidth : std::uint8_t {
  kColumns,  // W: all blocks of a row; behind the listed ones come the others, ascending (torch)
  kLongest,  // W: the longest list, at least 1; behind shorter ones zeros
};
/// Throws Error(kLimit) when the indices take more than max_bytes.
BlockList block_list(const MaskBlocks& blocks, Fill fill, ListWidth width, Index max_bytes);

/// Blocks that are not empty: in row r of plane p, indices[i] for i from indptr[p, r] to
/// indptr[p, r + 1] - 1, which ascend. indptr [R+1] for one plane, else [B,H,R+1] with offsets that
/// go on from plane to plane; indices [N]; int32.
struct BlockRows {
  Tensor indptr, indices;
};
/// Throws Error(kLimit) when the indices take more than max_bytes, or are too many for int32.
BlockRows block_rows(const MaskBlocks& blocks, Index max_bytes);

/// A list that somebody made, and what its arrays are called in messages. counts [R] or [B,H,R],
/// indices with one axis more, of any integer type.
struct NamedBlockList {
  std::string_view counts_name, indices_name;
  Tensor counts, indices;
  std::uint8_t value = 1;  // of its blocks in a map: 1 partial, 2 full
};
/// The map [B,H,R,columns] uint8 of lists of the same rows: 0 for blocks in no list. Throws
/// Error(kShape) for shapes that disagree, Error(kFormat) that names the row of a count or block
/// that is out of range, a block out of order, listed twice or in two lists, and Error(kLimit) for
/// a map of more than max_bytes.
Tensor map_of_lists(std::span<const NamedBlockList> lists, Index columns, Index max_bytes);
/// The map of block-sparse rows: 1 for blocks that are listed.
Tensor map_of_rows(const BlockRows& rows, Index columns, Index max_bytes);
/// Refuses lists by rows of key blocks that mean other blocks than `map`: theirs is `transposed`.
/// Throws Error(kFormat) that names the row.
void check_transposed(const Tensor& map, const Tensor& transposed);

}  // namespace maskctl
