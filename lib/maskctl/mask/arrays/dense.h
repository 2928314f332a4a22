// Conversions between the lazy mask and arrays: dense arrays, and the other array forms of a mask.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Extends the shape [Q,K], [B,Q,K] or [B,H,Q,K] to [B,H,Q,K]. Throws Error(kShape) for other
/// ranks.
std::vector<Index> dense_shape(std::span<const Index> shape);

/// The mask of an array [Q,K], [B,Q,K] or [B,H,Q,K] of any dtype, nonzero = may attend. Equal
/// planes are stored once. Throws Error(kShape) for other ranks.
Mask mask_from_dense(const Tensor& array);

/// The mask as an array [B,H,Q,K] of bool. Throws Error(kLimit) when that takes more than
/// max_bytes.
Tensor dense_from_mask(const Mask& mask, Index max_bytes);

/// Writes rows q of a plane as bytes 0 and 1, row-major, q.size() * keys of them.
void dense_rows(const Plane& plane, Range q, std::span<std::uint8_t> out);
/// dense_rows() for all rows, on all cores.
void dense_plane(const Plane& plane, std::span<std::uint8_t> out);

/// Brings flags of tokens into the shape (S,) or (B, S): [B,1,S] and [B,1,1,S] lose their axes of
/// length one, and floats that are an additive mask (bias.h) become bool. Other arrays are returned
/// unchanged.
Tensor token_flags(const Tensor& array);
/// Masks of validity flags [S] or [B,S], nonzero = valid. mask_from_padding: S x S, open where
/// query and key are both valid. mask_from_key_padding: `queries` x S, open where the key is valid.
/// Equal rows of flags share a plane. Throws Error(kShape) for other ranks.
Mask mask_from_padding(const Tensor& valid);
Mask mask_from_key_padding(const Tensor& valid, Index queries);
/// Repeats a mask of one query for `queries` queries, as [B,1,1,K] broadcasts over attention
/// scores. Throws Error(kShape) when it has another number of queries.
Mask repeated_queries(const Mask& mask, Index queries);
/// The mask of segment ids: q_ids [Sq] or [B,Sq], kv_ids [Sk] or [B,Sk]. Open where the ids are
/// equal and not pad_id. A batch of 1 on one side is repeated for all batches of the other. Throws
/// Error(kShape) for other ranks or batches.
Mask mask_from_segments(const Tensor& q_ids, const Tensor& kv_ids, std::int32_t pad_id);
/// The mask of a block map [...,Qb,Kb], nonzero = open, which holds one map per batch and head in C
/// order. Throws Error(kShape) for a map whose size is not one element per block.
Mask mask_from_blocks(const Tensor& map, Index batch, Index heads, Index queries, Index keys,
                      BlockSize size);
/// The mask of cumulative lengths cu_q and cu_kv, each [N+1]: they start with 0 and never decrease.
/// There is one batch; document i has queries [cu_q[i], cu_q[i+1]), which see keys [cu_kv[i],
/// cu_kv[i+1]); equal neighbours mean an empty document. `queries` and `keys` are the last entries
/// unless given; tokens after the last entry are closed. Throws Error(kInvalidArgument) naming the
/// first bad entry, or if the arrays have different lengths or end past `queries` or `keys`, and
/// Error(kShape) for other ranks.
Mask mask_from_cu_seqlens(const Tensor& cu_q, const Tensor& cu_kv,
                          std::optional<Index> queries = std::nullopt,
                          std::optional<Index> keys = std::nullopt);
/// The mask of start-end pairs, each [2B]: queries [q[2b], q[2b+1]) of batch b see keys [kv[2b],
/// kv[2b+1]).
/// Throws Error(kInvalidArgument) for a pair that decreases, is negative or ends past the extent,
/// and for arrays of an odd length or of different lengths; Error(kShape) for other ranks.
Mask mask_from_pairs(const Tensor& pairs_q, const Tensor& pairs_kv, Index queries, Index keys);

/// A mask as runs of open keys, the lossless form for exchange. Row r = (b * H + h) * Q + q has the
/// runs i with indptr[r] <= i < indptr[r + 1]: keys [begin[i], end[i]), ascending, neither
/// overlapping nor touching.
/// `indptr` int64 [B*H*Q + 1], `begin`, `end` int32, `shape` int64 [4] = [B,H,Q,K].
struct RunArrays {
  Tensor indptr, begin, end, shape;
};
/// The runs of a mask. Throws Error(kLimit) when the arrays take more than max_bytes.
RunArrays runs_from_mask(const Mask& mask, Index max_bytes);
/// The mask of runs, of any integer dtype. Everything is validated: arrays that are inconsistent,
/// even on purpose, give Error(kFormat).
Mask mask_from_runs(const RunArrays& arrays);

}  // namespace maskctl
