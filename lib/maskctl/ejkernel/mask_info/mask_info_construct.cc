// The functions that make a MaskInfo.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/ejkernel/mask_info/debug_trace.h"
#include "maskctl/ejkernel/mask_info/mask_info_arrays.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

MaskInfoFields fields_of(const MaskInfoExtras& extras) {
  MaskInfoFields fields;
  fields.q_positions = extras.q_positions;
  fields.kv_positions = extras.kv_positions;
  fields.axes = extras.axes;
  return fields;
}

/// q[:, None, :, None] & kv[:, None, None, :] for ids that are 0 (valid) or -1.
MaskArray outer_product(const Tensor& q_ids, const Tensor& kv_ids) {
  const auto batch = [](const Tensor& ids) { return ids.rank() == 2 ? ids.extent(0) : 0; };
  if (q_ids.rank() != 2 || kv_ids.rank() != 2 ||
      (batch(q_ids) != batch(kv_ids) && batch(q_ids) != 1 && batch(kv_ids) != 1)) {
    throw PythonError(PythonType::kTypeError,
                      fmt::format("padding masks of shapes {} and {}: expected (batch, length)",
                                  shape_text(q_ids.shape()), shape_text(kv_ids.shape())));
  }
  return MaskArray(mask_from_segments(q_ids, kv_ids, -1));
}

/// ~mask for a bool array.
MaskArray inverted(const MaskArray& mask) {
  if (mask.rank() < 2 || mask.rank() > 4) return mask;  // the caller rejects this rank anyway
  return MaskArray(complement(mask.mask()), mask.rank(), DType::kBool);
}

/// mask == 1 as bool; a bool array is returned as it is.
MaskArray ones_of(const MaskArray& mask) {
  if (mask.lazy()) return mask.astype(DType::kBool);  // a lazy array has only 0 and 1
  const Tensor elements = mask.tensor();
  if (elements.dtype() == DType::kBool) return mask;
  Tensor ones(DType::kBool, elements.shape());
  // No number except 1 is rounded to 1.0.
  const Tensor numbers = astype(elements, DType::kFloat64);
  std::ranges::transform(numbers.as<double>(), ones.as<std::uint8_t>().begin(),
                         [](double number) { return static_cast<std::uint8_t>(number == 1.0); });
  return MaskArray(ones);
}

Tensor all_valid(const std::vector<Index>& shape, std::size_t rank) {
  if (shape.size() != rank) {
    throw PythonError(
        PythonType::kValueError,
        fmt::format("{} values to unpack (expected {}, got {})",
                    shape.size() < rank ? "not enough" : "too many", rank, shape.size()));
  }
  Tensor ones(DType::kBool, {shape[0], shape[1]});
  std::ranges::fill(ones.as<std::uint8_t>(), std::uint8_t{1});
  return ones;
}

/// A float as Python prints it.
std::string python_text(double number) {
  const std::string text = fmt::format("{}", number);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace

MaskInfo MaskInfo::from_segments(const Tensor& q_segment_ids, const Array& kv_segment_ids,
                                 bool is_attn_mask, const MaskInfoExtras& extras) {
  trace_call("type.from_segments");
  MaskInfoFields fields = fields_of(extras);
  fields.q_segment_ids = make_array(astype(q_segment_ids, DType::kInt32));
  fields.kv_segment_ids = kv_segment_ids ? int32_array(kv_segment_ids) : fields.q_segment_ids;
  if (is_attn_mask) {
    fields.q_segment_ids = ids_of_flags(*fields.q_segment_ids);
    fields.kv_segment_ids =
        kv_segment_ids ? ids_of_flags(*fields.kv_segment_ids) : fields.q_segment_ids;
    fields.attention_mask = outer_product(*fields.q_segment_ids, *fields.kv_segment_ids);
  }
  return MaskInfo(std::move(fields));
}

MaskInfo MaskInfo::from_attention_mask(const MaskArray& attention_mask, bool mask_is_valid,
                                       const MaskInfoExtras& extras) {
  trace_call("type.from_attention_mask");
  MaskInfoFields fields = fields_of(extras);
  MaskArray mask = attention_mask.astype(DType::kBool);
  if (!mask_is_valid) mask = inverted(mask);
  if (mask.rank() == 2) {
    fields.q_segment_ids = fields.kv_segment_ids = ids_of_flags(mask.tensor());
    fields.attention_mask = segment_ids_to_mask(*fields.q_segment_ids, *fields.kv_segment_ids);
    return MaskInfo(std::move(fields));
  }
  if (mask.rank() != 3 && mask.rank() != 4) {
    throw PythonError(
        PythonType::kValueError,
        fmt::format("Invalid attention_mask dimensionality. Expected 2D (Q,K), 3D (batch,Q,K), or "
                    "4D (batch,heads,Q,K), but got {}D with shape {}. Check that your mask has the "
                    "proper dimensions for the attention operation.",
                    mask.rank(), shape_text(mask.shape())));
  }
  if (mask.rank() == 3) mask = MaskArray(heads_as_batches(mask.mask()));
  QkvArrays ids = attention_mask_to_padding_segment_ids(mask);
  fields.q_segment_ids = std::move(ids.q);
  fields.kv_segment_ids = std::move(ids.kv);
  fields.attention_mask = std::move(mask);
  return MaskInfo(std::move(fields));
}

MaskInfo MaskInfo::from_cu_seqlens(const Tensor& cu_seqlens_q, Index max_q_len,
                                   const Array& cu_seqlens_kv, std::optional<Index> max_kv_len,
                                   const MaskInfoExtras& extras) {
  trace_call("type.from_cu_seqlens");
  MaskInfoFields fields = fields_of(extras);
  fields.cu_seqlens_q = make_array(astype(cu_seqlens_q, DType::kInt32));
  fields.cu_seqlens_kv = cu_seqlens_kv ? int32_array(cu_seqlens_kv) : fields.cu_seqlens_q;
  const QkvArrays valid = qkv_cu_seqlens_to_qkv_masks(
      *fields.cu_seqlens_q, max_q_len, fields.cu_seqlens_kv, max_kv_len.value_or(max_q_len));
  fields.q_segment_ids = ids_of_flags(*valid.q);
  fields.kv_segment_ids = ids_of_flags(*valid.kv);
  return MaskInfo(std::move(fields));
}

MaskInfo MaskInfo::from_random(Index batch_size, Index q_len, std::optional<Index> kv_len,
                               double sparsity, std::int64_t seed, const MaskInfoExtras& extras) {
  trace_call("type.from_random");
  const Index keys = kv_len.value_or(q_len);
  if (!(sparsity >= 0.0 && sparsity <= 1.0)) {
    throw PythonError(
        PythonType::kValueError,
        fmt::format("Invalid sparsity value. Expected a float in the range [0.0, 1.0] (where 0.0 = "
                    "full attention, 1.0 = fully masked), but got {}. Please provide a valid "
                    "sparsity level between 0 and 1.",
                    python_text(sparsity)));
  }
  if (batch_size < 0 || q_len < 0 || keys < 0) {
    throw PythonError(PythonType::kTypeError,
                      fmt::format("shape ({}, 1, {}, {}): expected no negative extents", batch_size,
                                  q_len, keys));
  }
  // JAX without 64-bit types keeps only the low 32 bits of a seed.
  const ThreefryKey key = prng_key(static_cast<std::uint32_t>(seed));
  const auto cells = static_cast<std::uint64_t>(q_len) * static_cast<std::uint64_t>(keys);
  const auto p = static_cast<float>(1.0 - sparsity);
  MaskInfoFields fields = fields_of(extras);
  fields.attention_mask = MaskArray(Mask::make(batch_size, 1, q_len, keys, [&](Index b, Index) {
    return random_plane(q_len, keys, key, static_cast<std::uint64_t>(b) * cells, p);
  }));
  return MaskInfo(std::move(fields));
}

MaskInfo MaskInfo::dynamic_init(const DynamicInputs& inputs) {
  trace_call("type.dynamic_init");
  if (inputs.mask_info != nullptr) return *inputs.mask_info;
  if (inputs.attention_mask) {
    const MaskArray mask = ones_of(*inputs.attention_mask);
    if (mask.rank() != 2) return from_attention_mask(mask);
    return from_segments(mask.tensor(), nullptr, true);
  }
  if (inputs.input_ids_shape) {
    return from_segments(all_valid(*inputs.input_ids_shape, 2), nullptr, true);
  }
  if (inputs.inputs_embeds_shape) {
    return from_segments(all_valid(*inputs.inputs_embeds_shape, 3), nullptr, true);
  }
  throw PythonError(PythonType::kValueError,
                    "Cannot create MaskInfo: insufficient information provided. You must provide "
                    "at least one of: mask_info, input_ids, inputs_embeds, or attention_mask. "
                    "These are needed to determine the batch size and sequence length.");
}

}  // namespace maskctl
