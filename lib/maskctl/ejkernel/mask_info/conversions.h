// ejkernel's module functions on masks and segment ids, value for value.
#pragma once

#include <optional>
#include <string_view>

#include "maskctl/ejkernel/mask_info/mask_array.h"

namespace maskctl {

/// A pair of arrays, for the query side and the key side.
struct QkvArrays {
  Array q, kv;
};

/// Validity of queries and of keys, and the pairwise mask.
struct QkvMasks {
  Array q, kv;
  MaskArray attention;
};

// Source of all: ejkernel.types.mask. Errors are PythonError with ejkernel's text.

/// Ids of equal rows and of equal columns, numbered from 0 by first appearance, -1 for those with
/// no open cell; int32. [Q,K] gives [Q] and [K]; [B,Q,K] gives [B,Q] and [B,K]. [B,H,Q,K] gives the
/// ids of head 0, or with per_head those of all heads, [B,H,Q] and [B,H,K]. Nonzero elements are
/// open.
QkvArrays mask_to_segment_ids(const MaskArray& mask, bool per_head = false);

/// [B,1,Q,K]: open where ids are equal and above -1. Takes [B,Q] and [B,K]; ids of other ranks
/// follow numpy's broadcasting, as in ejkernel, and may throw PythonError(TypeError).
MaskArray segment_ids_to_mask(const Tensor& q_ids, const Tensor& kv_ids,
                              DType dtype = DType::kBool);
/// One array for both sides.
MaskArray segment_ids_to_mask(const Tensor& ids, DType dtype = DType::kBool);
/// return_separate_masks=True. Null kv_ids: the keys have the ids of the queries.
QkvMasks segment_ids_to_qkv_masks(const Array& q_ids, const Array& kv_ids = nullptr,
                                  DType dtype = DType::kBool);

/// [2B] pairs (start, end) of the valid part of each row of [B,S]; nonzero = valid.
QkvArrays qkv_masks_to_cu_seqlens(const Tensor& q_mask, const Array& kv_mask = nullptr,
                                  DType out_dtype = DType::kInt32);
/// [B, max_len]: 1 in [start, end).
Tensor cu_seqlens_to_mask(const Tensor& cu_seqlens, Index max_len, DType dtype = DType::kBool);
QkvArrays qkv_cu_seqlens_to_qkv_masks(const Tensor& cu_q, Index max_q_len,
                                      const Array& cu_kv = nullptr,
                                      std::optional<Index> max_kv_len = std::nullopt,
                                      DType dtype = DType::kBool);
/// [B,1,Q,K], lazy.
MaskArray qkv_cu_seqlens_to_attention_mask(const Tensor& cu_q, Index max_q_len,
                                           const Array& cu_kv = nullptr,
                                           std::optional<Index> max_kv_len = std::nullopt,
                                           DType dtype = DType::kBool);
/// reduce_heads: "any", "all" or "first".
QkvArrays attention_mask_to_qkv_cu_seqlens(const MaskArray& attention_mask,
                                           std::string_view reduce_heads = "any",
                                           DType out_dtype = DType::kInt32);

/// [max_segments + 1]: 0 and the cumulative counts of the ids 0, 1, ... over all batches; ids at or
/// above max_segments are not counted.
Tensor segment_ids_to_cu_seqlens(const Tensor& ids, DType out_dtype = DType::kInt32,
                                 Index max_segments = 128);
/// -1 for rows (columns) that are closed for all heads, else 0; [B,Q] and [B,K] int32.
QkvArrays attention_mask_to_padding_segment_ids(const MaskArray& attention_mask);
/// Positions count from 0 and restart where the id changes and after padding (ids below 0), which
/// gets pad_value; [B,S] int32.
Tensor positions_from_segments_2d(const Tensor& ids, std::int32_t pad_value);
/// Maps anchors (first index of each group) to group numbers in ascending order of the anchors; -1
/// where pad_mask is set. [N] int32.
Tensor compress_ids_from_anchors(const Tensor& anchors, const Tensor& pad_mask);
/// [Q,K]: same chunk and k <= q + offset. A lazy array of rank 2.
MaskArray create_chunked_attention_mask(Index chunk_size, Index q_len,
                                        std::optional<Index> kv_len = std::nullopt,
                                        Index offset = 0, DType dtype = DType::kBool);

}  // namespace maskctl
