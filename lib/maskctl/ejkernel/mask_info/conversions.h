// ejkernel's module functions on masks and segment ids, with identical results.
#pragma once

#include <optional>
#include <string_view>

#include "maskctl/ejkernel/mask_info/mask_array.h"

namespace maskctl {

/// An array for the query side and one for the key side.
struct QkvArrays {
  Array q, kv;
};

/// Which queries and which keys are valid, and the attention mask.
struct QkvMasks {
  Array q, kv;
  MaskArray attention;
};

// Source of all functions: ejkernel.types.mask. They throw PythonError with ejkernel's message.

/// Gives equal rows the same id, and equal columns the same id. Ids are int32, numbered from 0 in
/// the order of first appearance; -1 where no cell is open. Nonzero elements are open. [Q,K] gives
/// [Q] and [K]; [B,Q,K] gives [B,Q] and [B,K]; [B,H,Q,K] gives the ids of head 0, or with per_head
/// those of all heads, [B,H,Q] and [B,H,K].
QkvArrays mask_to_segment_ids(const MaskArray& mask, bool per_head = false);

/// [B,1,Q,K], open where ids are equal and above -1. Expects [B,Q] and [B,K]. As in ejkernel, ids
/// of other ranks broadcast like numpy arrays and may throw PythonError(TypeError).
MaskArray segment_ids_to_mask(const Tensor& q_ids, const Tensor& kv_ids,
                              DType dtype = DType::kBool);
/// As above, with the same ids for queries and keys.
MaskArray segment_ids_to_mask(const Tensor& ids, DType dtype = DType::kBool);
/// Returns what ejkernel's segment_ids_to_mask returns with return_separate_masks=True. If kv_ids
/// is null, keys have the ids of the queries.
QkvMasks segment_ids_to_qkv_masks(const Array& q_ids, const Array& kv_ids = nullptr,
                                  DType dtype = DType::kBool);

/// For each row of [B,S], the start and end of its nonzero elements: [2B] int32, (start, end)
/// pairs.
QkvArrays qkv_masks_to_cu_seqlens(const Tensor& q_mask, const Array& kv_mask = nullptr,
                                  DType out_dtype = DType::kInt32);
/// [B, max_len]: 1 at positions from start to end - 1 of each batch entry's (start, end) pair.
Tensor cu_seqlens_to_mask(const Tensor& cu_seqlens, Index max_len, DType dtype = DType::kBool);
QkvArrays qkv_cu_seqlens_to_qkv_masks(const Tensor& cu_q, Index max_q_len,
                                      const Array& cu_kv = nullptr,
                                      std::optional<Index> max_kv_len = std::nullopt,
                                      DType dtype = DType::kBool);
/// Returns a mask [B,1,Q,K] that does not store its elements.
MaskArray qkv_cu_seqlens_to_attention_mask(const Tensor& cu_q, Index max_q_len,
                                           const Array& cu_kv = nullptr,
                                           std::optional<Index> max_kv_len = std::nullopt,
                                           DType dtype = DType::kBool);
/// `reduce_heads`: whether a cell counts as open if it is open in "any" head, in "all" heads, or in
/// the "first" head.
QkvArrays attention_mask_to_qkv_cu_seqlens(const MaskArray& attention_mask,
                                           std::string_view reduce_heads = "any",
                                           DType out_dtype = DType::kInt32);

/// [max_segments + 1]: 0, then the cumulative counts of the ids 0, 1, ... over all batches. Ids of
/// max_segments or more are not counted.
Tensor segment_ids_to_cu_seqlens(const Tensor& ids, DType out_dtype = DType::kInt32,
                                 Index max_segments = 128);
/// -1 for rows (columns) that are closed in all heads, else 0: [B,Q] and [B,K] int32.
QkvArrays attention_mask_to_padding_segment_ids(const MaskArray& attention_mask);
/// [B,S] int32: positions count from 0, and restart where the id changes and after padding. Padding
/// (ids below 0) has the position pad_value.
Tensor positions_from_segments_2d(const Tensor& ids, std::int32_t pad_value);
/// An anchor is the index of the first element of a group. Replaces anchors by group numbers, in
/// ascending order of the anchors; -1 where pad_mask is set. [N] int32.
Tensor compress_ids_from_anchors(const Tensor& anchors, const Tensor& pad_mask);
/// [Q,K]: open if the chunk is the same and k <= q + offset. A lazy array of rank 2.
MaskArray create_chunked_attention_mask(Index chunk_size, Index q_len,
                                        std::optional<Index> kv_len = std::nullopt,
                                        Index offset = 0, DType dtype = DType::kBool);

}  // namespace maskctl
