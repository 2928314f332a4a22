// Transforms of MaskInfo that keep its shape: causal, chunked, token types.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/ejkernel/mask_info/broadcast.h"
#include "maskctl/ejkernel/mask_info/debug_trace.h"
#include "maskctl/ejkernel/mask_info/mask_info_arrays.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The offset of each plane of the causal mask: one per batch row, or as many as the array has.
std::vector<std::int32_t> causal_offsets(const PerBatch& offset, Index batch) {
  std::vector<std::int32_t> values = int32_values(offset);
  const Array* array = std::get_if<Array>(&offset);
  const Index rank = array == nullptr ? 0 : (*array)->rank();
  if (rank == 0) values.assign(static_cast<std::size_t>(batch), values.front());
  if (rank > 2 || (rank == 2 && (*array)->extent(1) != 1)) {
    throw PythonError(PythonType::kTypeError,
                      fmt::format("offset of shape {}: expected one number for each batch",
                                  shape_text((*array)->shape())));
  }
  return values;
}

/// where(ids < 0, -1, chunk number + 1), with chunk numbers of shape [batch, length].
Array chunk_ids(const Array& ids, Index batch, Index length, Index chunk_size) {
  const Array current = int32_array(ids);
  const std::array chunks{batch, length};
  const auto shape = broadcast_shape(current->shape(), chunks);
  Tensor out(DType::kInt32, shape);
  auto to = out.as<std::int32_t>().begin();
  const auto from = current->as<std::int32_t>();
  for_each_broadcast(shape, current->shape(), std::span(chunks).subspan(1),
                     [&](std::size_t id, std::size_t position) {
                       const Index chunk = static_cast<Index>(position) / chunk_size + 1;
                       *to++ = from[id] < 0 ? -1 : static_cast<std::int32_t>(chunk);
                     });
  return make_array(std::move(out));
}

void check_token_types(const Tensor& q, const Tensor& kv) {
  const std::string q_shape = shape_text(q.shape()), kv_shape = shape_text(kv.shape());
  if (q.rank() != 2 || kv.rank() != 2) {
    throw PythonError(
        PythonType::kValueError,
        fmt::format("Invalid token_type_ids shape. Expected 2D arrays with shape (batch, seq_len), "
                    "but got q_types.shape={} ({}D) and kv_types.shape={} ({}D). For "
                    "self-attention, pass a single (batch, seq_len) array. For cross-attention, "
                    "pass a tuple of ((batch, q_len), (batch, kv_len)).",
                    q_shape, q.rank(), kv_shape, kv.rank()));
  }
  if (q.extent(0) != kv.extent(0)) {
    throw PythonError(
        PythonType::kValueError,
        fmt::format("Batch size mismatch in token_type_ids. Query token types have batch size {}, "
                    "but key-value token types have batch size {}. Both must have the same batch "
                    "dimension. Shapes: q_types={}, kv_types={}",
                    q.extent(0), kv.extent(0), q_shape, kv_shape));
  }
}

step::Tokens::Zero zero_of(const std::string& policy) {
  if (policy == "q") return step::Tokens::Zero::kQ;
  if (policy == "kv") return step::Tokens::Zero::kKv;
  if (policy == "both") return step::Tokens::Zero::kBoth;
  if (policy == "none") return step::Tokens::Zero::kNone;
  throw PythonError(
      PythonType::kValueError,
      fmt::format("Invalid zero_policy value. Expected one of ['q', 'kv', 'both', 'none'], but got "
                  "'{}'. The zero_policy determines how token_type_id=0 is treated: 'q'=disable on "
                  "queries, 'kv'=disable on keys/values, 'both'=disable on both sides, 'none'=no "
                  "special treatment.",
                  policy));
}

/// [B,1,Q,K]: open where the token types are equal.
MaskArray equal_types(const Tensor& q, const Tensor& kv, step::Tokens::Zero zero) {
  step::Tokens rule;
  rule.q.array = q;
  rule.kv.array = kv;
  rule.shared = false;
  rule.join = step::Tokens::Join::kReplace;
  rule.zero = zero;
  const PlanePtr plane = empty_plane(q.extent(1), kv.extent(1));
  return MaskArray(apply(
      Mask::make(q.extent(0), 1, q.extent(1), kv.extent(1), [&](Index, Index) { return plane; }),
      Step{rule}));
}

MaskArray combined(const std::string& combine_mode, const MaskArray& base, MaskArray types) {
  if (combine_mode == "union") return combine(Op::kOr, base, types);
  if (combine_mode == "intersect") return combine(Op::kAnd, base, types);
  if (combine_mode == "replace") return types;
  throw PythonError(
      PythonType::kValueError,
      fmt::format(
          "Invalid combine mode. Expected one of ['union', 'intersect', 'replace'], but got "
          "'{}'. The combine mode determines how token types interact with the existing "
          "mask: 'union'=base_mask OR token_type_mask, 'intersect'=base_mask AND "
          "token_type_mask, 'replace'=token_type_mask only.",
          combine_mode));
}

/// Token types as segment ids: type 0 becomes -1 (padding).
Array ids_of_types(Tensor types) {
  for (std::int32_t& type : types.as<std::int32_t>()) {
    if (type == 0) type = -1;
  }
  return make_array(std::move(types));
}

}  // namespace

MaskInfo MaskInfo::apply_causal(const PerBatch& offset) {
  trace_call("MaskInfo.apply_causal");
  require_lengths(*this, "apply causal mask");
  const MaskArray base = get_or_compute_attention_mask();
  require_rank4(base);
  const Index queries = base.shape()[2], keys = base.shape()[3];
  const auto offsets = causal_offsets(offset, base.shape()[0]);
  const Mask causal = planes_of_values(offsets, queries, keys, [&](Index value) {
    return int32_band(queries, keys, std::nullopt, value);
  });
  BakedInMasks baked = fields_.baked_in;
  baked.causal = true;
  return replace({.attention_mask = combine(Op::kAnd, base, MaskArray(causal)), .baked_in = baked});
}

MaskInfo MaskInfo::apply_chunked(Index chunk_size, Index offset) {
  trace_call("MaskInfo.apply_chunked");
  if (chunk_size <= 0) {
    throw PythonError(PythonType::kValueError,
                      fmt::format("Invalid chunk_size: expected a positive integer, but got {}. "
                                  "Chunk size must be greater than 0 to define valid chunks.",
                                  chunk_size));
  }
  const Index size = int32_from(chunk_size);
  require_lengths(*this, "apply chunked attention");
  const MaskArray base = get_or_compute_attention_mask();
  const Index queries = q_len().value(), keys = kv_len().value();
  const MaskArray chunked(
      create_chunked_attention_mask(size, queries, keys, int32_from(offset)).mask());
  MaskArray mask = combine(Op::kAnd, base, chunked);
  const QkvArrays ids = get_or_compute_segment_ids();
  const Index batch = extent_of(base.shape(), 0);
  // The ids now determine q_len() and kv_len(), which may differ from the lengths of the mask.
  if (q_len() != queries || kv_len() != keys) {
    throw PythonError(PythonType::kValueError, "incompatible shapes for broadcasting");
  }
  BakedInMasks baked = fields_.baked_in;
  baked.chunked = true;
  return replace({.attention_mask = std::move(mask),
                  .q_segment_ids = chunk_ids(ids.q, batch, queries, size),
                  .kv_segment_ids = chunk_ids(ids.kv, batch, keys, size),
                  .baked_in = baked});
}

MaskInfo MaskInfo::apply_token_type_ids(const Tensor& q_types, const Array& kv_types,
                                        const TokenTypeOptions& options) {
  trace_call("MaskInfo.apply_token_type_ids");
  check_token_types(q_types, kv_types ? *kv_types : q_types);
  const Tensor q = astype(q_types, DType::kInt32);
  const Tensor kv = kv_types ? astype(*kv_types, DType::kInt32) : q;
  const MaskArray base = get_or_compute_attention_mask();
  Replacement fields;
  fields.attention_mask =
      combined(options.combine, base, equal_types(q, kv, zero_of(options.zero_policy)));
  if (options.update_segment_ids.value_or(options.combine != "union")) {
    fields.q_segment_ids = ids_of_types(q);
    fields.kv_segment_ids = ids_of_types(kv);
  }
  fields.baked_in = fields_.baked_in;
  fields.baked_in->token_type_ids = true;
  return replace(fields);
}

}  // namespace maskctl
