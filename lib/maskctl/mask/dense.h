// Dense arrays in and out of the lazy mask.
#pragma once

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// [Q,K], [B,Q,K] or [B,H,Q,K] of any dtype, nonzero = may attend. Equal planes are shared.
/// Throws Error(kShape) for other ranks.
Mask mask_from_dense(const Tensor& array);

/// [B,H,Q,K] bool. Throws Error(kLimit) when that takes more than max_bytes.
Tensor dense_from_mask(const Mask& mask, Index max_bytes);

/// The rows q of a plane as bytes 0 / 1, row-major, q.size() * keys of them.
void dense_rows(const Plane& plane, Range q, std::span<std::uint8_t> out);

/// [B,S] validity -> Q x K: both sides valid (the seed's padding mask), or only the key.
Mask mask_from_padding(const Tensor& valid);
Mask mask_from_key_padding(const Tensor& valid, Index queries);
/// Ids [B,Sq], [B,Sk]: equal and not pad_id.
Mask mask_from_segments(const Tensor& q_ids, const Tensor& kv_ids, std::int32_t pad_id);
/// Cumulative lengths [N+1] (0 = first, ascending): one batch of documents over `queries` tokens;
/// tokens past the last are closed. Throws Error(kInvalidArgument) naming the first bad entry.
Mask mask_from_cu_seqlens(const Tensor& cu_q, const Tensor& cu_kv);
/// The seed's start-end pairs [2B]: batch b sees the queries [q[2b], q[2b+1]) x keys likewise.
Mask mask_from_pairs(const Tensor& pairs_q, const Tensor& pairs_kv, Index queries, Index keys);

/// The lossless exchange form: `indptr` i64 [B*H*Q + 1], `begin`, `end` i32, `shape` i64 [4].
struct RunArrays {
  Tensor indptr, begin, end, shape;
};
RunArrays runs_from_mask(const Mask& mask, Index max_bytes);
/// Validates everything: hostile arrays give Error(kFormat).
Mask mask_from_runs(const RunArrays& arrays);

}  // namespace maskctl
