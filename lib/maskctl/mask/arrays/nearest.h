// The nearest array of each kind to a mask that the kind may not hold exactly, with the loss
// counted.
#pragma once

#include <cstdint>
#include <span>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Arrays of one kind, the mask that they mean, and the number of cells in which that mask differs
/// from the original [B, H, Q, K]. For a kind without heads, `mask` has one head, which stands for
/// all.
struct Nearest {
  Tensor q, kv;  // equal when the kind has one array, or one serves both sides
  Mask mask;
  Index changed = 0;
};

/// Validity [B, S] bool, Q == K == S. A token is valid when it sees any key or is seen by any
/// query, in any head. Exact for masks that open all pairs of some set of tokens. Throws
/// Error(kShape) for Q != K.
Nearest nearest_padding(const Mask& mask);

/// Validity [B, K] bool: keys that any query sees, in any head. Exact when all queries of all heads
/// see the same keys.
Nearest nearest_key_padding(const Mask& mask);

/// Ids [B, Q] and [B, K] int32, of head 0. Queries that see the same keys share an id, numbered
/// from 0 by first appearance; queries that see nothing get pad_id, and if pad_id is not negative,
/// numbers from pad_id on move up by one. When each class of queries sees its own class of keys
/// (disjoint rectangles in any order), keys get the id of the queries that see them, which is
/// exact. Otherwise keys are numbered in the same way, by the queries that see
/// them.
Nearest nearest_segments(const Mask& mask, std::int32_t pad_id = -1);

/// Cumulative lengths [N+1] int32 of one batch and head, or of the union of all. Queries and keys
/// are connected when the key lies between the first and last key that the query sees; a document
/// spans all that is connected. Queries and keys outside documents form documents that are empty on
/// the other side. Trailing tokens outside documents are left out. Exact for documents (rectangles
/// that ascend along both axes).
Nearest nearest_cu_seqlens(const Mask& mask);

/// Start-end pairs [2B] int32: for each batch, the range from the first to the last query that sees
/// any key, and from the first to the last key that any query sees, in any head; 0, 0 for an empty
/// batch. Exact for one rectangle per batch.
Nearest nearest_pairs(const Mask& mask);

/// The mask with every block opened that has any open cell, which is what a block map can hold. Its
/// count minus the mask's is the number of cells that change. Throws Error(kInvalidArgument) for
/// sizes below 1.
Mask opened_blocks(const Mask& mask, Index q_size, Index k_size);

/// The rows of a block map: 0 empty, 1 partial, 2 full, row-major, ceil(keys / k_size) a row.
void blockmap_rows(const Plane& plane, Range block_rows, Index q_size, Index k_size,
                   std::span<std::uint8_t> out);

}  // namespace maskctl
