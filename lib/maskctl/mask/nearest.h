// Masks as arrays that can hold less than them: what is lost, counted exactly.
#pragma once

#include <cstdint>
#include <span>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Arrays of one kind, the mask that they mean, and how many cells of the mask [B, H, Q, K] that
/// they were made from differ in it. Where a kind has no heads, `mask` has one and stands for all.
struct Nearest {
  Tensor q, kv;  // equal where the kind has one array, or one would do for both sides
  Mask mask;
  Index changed = 0;
};

/// Validity [B, S] bool, Q == K == S. A token is valid when it sees any key or any query sees it,
/// in any head. Exact for masks that open all pairs of some tokens. Throws Error(kShape) for Q !=
/// K.
Nearest nearest_padding(const Mask& mask);

/// Validity [B, K] bool: keys that any query sees, in any head. Exact when all queries of all heads
/// see the same keys.
Nearest nearest_key_padding(const Mask& mask);

/// Ids [B, Q] and [B, K] int32, of head 0. Queries that see the same keys share an id, numbered
/// from 0 by first appearance; those that see nothing have pad_id, and from pad_id on all numbers
/// move up by one if it is not negative. Where each class of queries sees a class of keys of its
/// own (disjoint rectangles in any order) keys take the id of the queries that see them, which is
/// exact. Otherwise keys are numbered as queries are, by the queries that see them: the seed's
/// mask_to_segment_ids.
Nearest nearest_segments(const Mask& mask, std::int32_t pad_id = -1);

/// Cumulative lengths [N+1] int32 of one batch and head, or of the union of all. A document reaches
/// from the first to the last query and key that are connected by keys between the first and the
/// last one that a query sees; queries and keys outside documents belong to ones that are empty on
/// the other side. Trailing tokens outside documents are left out. Exact for documents (rectangles
/// that ascend along both axes).
Nearest nearest_cu_seqlens(const Mask& mask);

/// Start-end pairs [2B] int32: in each batch from the first to the last query that sees any key,
/// and from the first to the last key that any query sees, in any head; 0, 0 for an empty batch.
/// Exact for one rectangle a batch.
Nearest nearest_pairs(const Mask& mask);

/// The mask whose blocks are open where any cell of the mask is: what a block map can hold. Its
/// count exceeds the mask's by the cells that change. Throws Error(kInvalidArgument) for sizes
/// below 1.
Mask opened_blocks(const Mask& mask, Index q_size, Index k_size);

/// The rows of a block map: 0 empty, 1 partial, 2 full, row-major, ceil(keys / k_size) a row.
void blockmap_rows(const Plane& plane, Range block_rows, Index q_size, Index k_size,
                   std::span<std::uint8_t> out);

}  // namespace maskctl
