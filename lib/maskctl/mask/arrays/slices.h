// Slices of attention: ranges of queries and of keys, each with a type, as MagiAttention takes
// them.
#pragma once

#include <optional>

#include "maskctl/mask/arrays/array_facts.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Slice i joins queries [q[i,0], q[i,1]) with keys [k[i,0], k[i,1]), each [N,2], by the type
/// types[i] ([N], or nothing for 0): 0, all; 1, causal, so that its last query sees its last key;
/// 2, inverse causal, so that its first query sees its first key and each later one a key fewer; 3,
/// both. A cell is open if it is in any slice.
/// Source: MagiAttention 1.1.1 (2c64135), magi_attention/functional/flex_flash_attn.py. The kernel
/// adds up what slices give, so that a cell in two of them counts twice, while the mask of its
/// tests (magi_attention/utils/_utils.py, make_attn_mask_from_ffa_args) has the last slice over the
/// others.
struct SliceArrays {
  Tensor q, k;
  std::optional<Tensor> types;
};

/// The mask of slices, of one batch and head; the extents are the largest ends unless given.
/// Overlaps are added to `facts`. Throws Error(kShape) for arrays that do not fit each other,
/// Error(kFormat) for a range or type that is out of range, Error(kLimit) when nested slices would
/// take more than max_bytes.
Mask mask_from_slices(const SliceArrays& slices, std::optional<Index> queries,
                      std::optional<Index> keys, Index max_bytes, ArrayFacts& facts);

/// Slices, int32, that make the mask exactly and do not overlap, in the order of their queries. The
/// mask has one batch and head. Throws Error(kLimit) when they take more than max_bytes.
SliceArrays slices_from_mask(const Mask& mask, Index max_bytes);

}  // namespace maskctl
