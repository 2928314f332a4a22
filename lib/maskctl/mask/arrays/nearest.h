// For each kind of array, the array that comes nearest to a mask which the kind may not be able to
// hold exactly, and how many cells change.
#pragma once

#include <cstdint>
#include <span>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Arrays of one kind; the mask that they mean; and the number of cells [B, H, Q, K] in which that
/// mask differs from the original. If the kind has no heads, `mask` has one head, which stands for
/// all.
struct Nearest {
  Tensor q, kv;  // the same array twice when the kind has one array for both sides
  Mask mask;
  Index changed = 0;
};

/// Validity flags [B, S] bool, Q == K == S. A token is valid when it sees any key or is seen by any
/// query, in any head. Exact for masks in which some set of tokens all see each other and nothing
/// else is open. Throws Error(kShape) for Q != K.
Nearest nearest_padding(const Mask& mask);

/// Validity flags [B, K] bool: a key is valid when any query sees it, in any head. Exact when all
/// queries of all heads see the same keys.
Nearest nearest_key_padding(const Mask& mask);

/// Segment ids [B, Q] and [B, K] int32, of head 0. Queries that see the same keys get the same id,
/// numbered from 0 by first appearance; queries that see nothing get pad_id. If pad_id is not
/// negative, ids from pad_id on move up by one to avoid it. The result is exact if the mask
/// consists of disjoint rectangles, in any order: then keys get the id of the queries that see
/// them. Otherwise keys are numbered on their own, by the queries that see them.
Nearest nearest_segments(const Mask& mask, std::int32_t pad_id = -1);

/// Cumulative lengths [N+1] int32 of one batch and head, or of the union of all. A document spans
/// all keys from the first to the last that its queries see. A query that sees a key before the end
/// of earlier documents is merged with them, and so is all in between. Queries (or keys) before and
/// between documents form documents without keys (or queries); those after the last document are
/// left out. Exact for documents: rectangles that ascend along both axes.
Nearest nearest_cu_seqlens(const Mask& mask);

/// Start-end pairs [2B] int32. For each batch: from the first to the last query that sees any key,
/// and from the first to the last key that any query sees, in any head; (0, 0) for a batch without
/// open cells. Exact for one rectangle per batch.
Nearest nearest_pairs(const Mask& mask);

/// The mask with every block that has an open cell opened completely: what a block map without
/// partial blocks can hold. Its count() minus that of `mask` is the number of cells that change.
/// Throws Error(kInvalidArgument) for sizes below 1.
Mask opened_blocks(const Mask& mask, Index q_size, Index k_size);

/// Writes rows of a block map: 0 empty, 1 partial, 2 full, row-major, ceil(keys / k_size) per row.
void blockmap_rows(const Plane& plane, Range block_rows, Index q_size, Index k_size,
                   std::span<std::uint8_t> out);

}  // namespace maskctl
