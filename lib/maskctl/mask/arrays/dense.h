// Conversions between the lazy mask and arrays: dense, and the other array forms of a mask.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The shape of [Q,K], [B,Q,K] or [B,H,Q,K] as [B,H,Q,K]. Throws Error(kShape) for other ranks.
std::vector<Index> dense_shape(std::span<const Index> shape);

/// [Q,K], [B,Q,K] or [B,H,Q,K] of any dtype, nonzero = may attend. Equal planes are shared.
/// Throws Error(kShape) for other ranks.
Mask mask_from_dense(const Tensor& array);

/// [B,H,Q,K] bool. Throws Error(kLimit) when that takes more than max_bytes.
Tensor dense_from_mask(const Mask& mask, Index max_bytes);

/// Writes the rows q of a plane as bytes 0 / 1, row-major, q.size() * keys of them.
void dense_rows(const Plane& plane, Range q, std::span<std::uint8_t> out);
/// All rows, on all cores.
void dense_plane(const Plane& plane, std::span<std::uint8_t> out);

/// Flags of tokens as (S,) or (B, S): [B,1,S] and [B,1,1,S] lose their axes of length one, and
/// floats that are an additive mask (bias.h) become bool. Other arrays are returned unchanged.
Tensor token_flags(const Tensor& array);
/// [S] or [B,S] validity, nonzero = valid -> Q x K: both sides valid (a padding mask);
/// with `..._key_...`, only the key. Equal rows are shared. Throws Error(kShape) for other ranks.
Mask mask_from_padding(const Tensor& valid);
Mask mask_from_key_padding(const Tensor& valid, Index queries);
/// Repeats a mask of one query for `queries` queries, as [B,1,1,K] broadcasts over scores. Throws
/// Error(kShape) when it has another number of queries.
Mask repeated_queries(const Mask& mask, Index queries);
/// Ids [Sq] or [B,Sq], and [Sk] or [B,Sk]: open where equal and not pad_id. A batch of 1 on one
/// side serves all batches of the other. Throws Error(kShape) for other ranks or batches.
Mask mask_from_segments(const Tensor& q_ids, const Tensor& kv_ids, std::int32_t pad_id);
/// Maps of blocks [...,Qb,Kb], nonzero = open, one for each batch and head in this order. Throws
/// Error(kShape) for a map that has not one cell for each block.
Mask mask_from_blocks(const Tensor& map, Index batch, Index heads, Index queries, Index keys,
                      BlockSize size);
/// Cumulative lengths [N+1] (0 = first, never decreasing; equal neighbours are an empty document):
/// one batch, document i sees queries [q[i], q[i+1]) x keys [kv[i], kv[i+1]). Extents are the last
/// entries unless given; tokens past the last entry are closed.
/// Throws Error(kInvalidArgument) naming the first bad entry.
Mask mask_from_cu_seqlens(const Tensor& cu_q, const Tensor& cu_kv,
                          std::optional<Index> queries = std::nullopt,
                          std::optional<Index> keys = std::nullopt);
/// Start-end pairs [2B]: batch b sees queries [q[2b], q[2b+1]) x keys likewise.
/// Throws Error(kInvalidArgument) for a pair that decreases, is negative or ends past the extent.
Mask mask_from_pairs(const Tensor& pairs_q, const Tensor& pairs_kv, Index queries, Index keys);

/// The lossless exchange form. Row r = (b * H + h) * Q + q has the runs indptr[r] .. indptr[r + 1]
/// - 1: keys [begin, end), ascending, neither overlapping nor touching.
/// `indptr` i64 [B*H*Q + 1], `begin`, `end` i32, `shape` i64 [4] = [B,H,Q,K].
struct RunArrays {
  Tensor indptr, begin, end, shape;
};
/// Throws Error(kLimit) when the arrays take more than max_bytes.
RunArrays runs_from_mask(const Mask& mask, Index max_bytes);
/// Validates everything: hostile arrays give Error(kFormat). Takes any integer dtype.
Mask mask_from_runs(const RunArrays& arrays);

}  // namespace maskctl
