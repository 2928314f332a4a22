// Lists of keys per query, as top-k sparse attention takes them, and the mask that they mean.
#pragma once

#include <optional>

#include "maskctl/mask/arrays/array_facts.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The mask of lists [Q,N], [B,Q,N] or [B,H,Q,N] of integers: query q sees the keys lists[q, i]
/// that are not -1, in any order. With blocks of more than one token, list r is that of the queries
/// of block r, and its entries are blocks of keys; `queries` are whole blocks unless given. What is
/// noticed is added to `facts`: keys twice, keys after a -1, and keys that do not ascend.
/// Sources, whose arrays have the axes (Q, H, N) and int32: FlashMLA 9241ae3,
/// flash_mla/flash_mla_interface.py, flash_mla_sparse_fwd (-1, or a number past the keys, which is
/// refused here, stands for none); MagiAttention 1.1.1 (2c64135),
/// magi_attention/functional/flex_flash_attn.py, index_attn_indices (-1 at the end only).
/// The mask keeps the lists where they take less memory than their runs of keys.
/// Throws Error(kShape) for other ranks and for lists that do not fit `queries`; Error(kFormat) for
/// an index out of range, with its place; Error(kLimit) when the runs of the keys take more than
/// max_bytes.
Mask mask_from_index_lists(Tensor lists, std::optional<Index> queries, Index keys, BlockSize block,
                           Index max_bytes, ArrayFacts& facts);

/// The lists of a mask, [B,H,Q,N] int32: its keys, ascending, then -1. N is the length of the
/// longest, at least 1. Throws Error(kLimit) when they take more than max_bytes.
Tensor index_lists_from_mask(const Mask& mask, Index max_bytes);

}  // namespace maskctl
