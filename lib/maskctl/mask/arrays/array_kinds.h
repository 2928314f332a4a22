// Two more array forms of a mask, besides those of dense.h: block maps and position ids.
#pragma once

#include <optional>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Turns position ids [S] or [B, S] into document numbers [B, S] int32, counted from 0 in each
/// batch. A token continues the document of its left neighbour when its position is the neighbour's
/// plus one. Any other position that is not negative starts a new document: 0, as packed batches
/// have it, but also a jump. Padding gets -1: negative positions, and equal positions above 0 at
/// the ends of a row, where transformers fills in 1. If several positions 1 follow a 0 at the end
/// of a row, the first of them is taken for a token; it may be padding, which only flags
/// (attention_mask) tell. Throws Error(kShape) for other ranks.
Tensor documents_from_positions(const Tensor& positions);

/// The mask of a block map [Tq, Tk], [B, Tq, Tk] or [B, H, Tq, Tk]. Block (i, j) covers queries [i
/// * q_size, (i + 1) * q_size) and keys [j * k_size, (j + 1) * k_size), cut off at `queries` and
/// `keys`, which are Tq * q_size and Tk * k_size unless given. Bool maps: a block is open where
/// true. Integer maps: 0 is empty, 2 full; 1 (partial) does not say which of its cells are open, so
/// it is an Error that names the first such block, as is any other value.
/// Throws Error(kShape) when the map does not fit `queries` and `keys`.
Mask mask_from_blockmap(const Tensor& map, Index q_size, Index k_size,
                        std::optional<Index> queries = std::nullopt,
                        std::optional<Index> keys = std::nullopt);

}  // namespace maskctl
