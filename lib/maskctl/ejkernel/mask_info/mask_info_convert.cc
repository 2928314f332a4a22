// The conversions of MaskInfo between its forms, which fill its caches; and replace().
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/ejkernel/mask_info/debug_trace.h"
#include "maskctl/ejkernel/mask_info/mask_info_arrays.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/arrays/bias.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr const char* kEmptyHint =
    "MaskInfo is empty (both attention_mask and segment_ids are None). Initialize MaskInfo with "
    "either an attention_mask or segment IDs";

/// finfo(dtype).min in closed cells, +0 in open cells.
Tensor bias_of(const Tensor& open, DType dtype) {
  if (!is_floating(dtype)) {
    throw PythonError(PythonType::kValueError,
                      fmt::format("data type {} not inexact", name(dtype)));
  }
  constexpr Index kBand = Index{1} << 20;
  Tensor bias(dtype, open.shape());
  const auto cells = open.as<std::uint8_t>();
  const std::size_t bytes = as_size(size_bytes(dtype));
  parallel_for(ceil_div(open.elements(), kBand), [&](Index band) {
    const std::size_t begin = as_size(band * kBand);
    const auto part = cells.subspan(begin, std::min(as_size(kBand), cells.size() - begin));
    expand_bias(dtype, part, bias.bytes().subspan(begin * bytes, part.size() * bytes),
                BiasFill::kMin);
  });
  return bias;
}

Array cast(const Array& array, DType dtype) {
  return array->dtype() == dtype ? array : make_array(astype(*array, dtype));
}

/// Which rows and columns of a mask have an open cell: int32 0 or 1.
QkvArrays open_lines_of(const MaskArray& mask) {
  if (mask.rank() != 4) {
    throw PythonError(PythonType::kValueError,
                      fmt::format("Expected 2D q_mask/kv_mask, got those of a mask of shape {}.",
                                  shape_text(mask.shape())));
  }
  const QkvArrays ids = attention_mask_to_padding_segment_ids(mask);  // 0: open, -1: closed
  const auto flags = [](const Array& array) {
    Tensor out(DType::kInt32, array->shape());
    std::ranges::transform(array->as<std::int32_t>(), out.as<std::int32_t>().begin(),
                           [](std::int32_t id) { return id + 1; });
    return make_array(std::move(out));
  };
  return {flags(ids.q), flags(ids.kv)};
}

}  // namespace

MaskInfo MaskInfo::materialize_attention_mask(DType dtype) {
  trace_call("MaskInfo.materialize_attention_mask");
  if (fields_.attention_mask) {
    if (fields_.attention_mask->dtype() == dtype) return *this;
    return replace({.attention_mask = fields_.attention_mask->astype(dtype)});
  }
  if (fields_.q_segment_ids && fields_.kv_segment_ids) {
    return replace({.attention_mask = segment_ids_to_mask(*fields_.q_segment_ids,
                                                          *fields_.kv_segment_ids, dtype)});
  }
  throw PythonError(PythonType::kValueError,
                    "Cannot materialize attention_mask: no source data available. Either provide "
                    "an attention_mask directly, or provide both q_segment_ids and kv_segment_ids "
                    "so the mask can be computed from segment information.");
}

MaskInfo MaskInfo::materialize_segment_ids(bool per_head) {
  trace_call("MaskInfo.materialize_segment_ids");
  if (fields_.q_segment_ids && fields_.kv_segment_ids) return *this;
  if (!fields_.attention_mask) {
    throw PythonError(PythonType::kValueError,
                      "Cannot materialize segment IDs: no attention_mask available. Provide an "
                      "attention_mask to compute segment IDs from, or initialize with segment IDs "
                      "directly.");
  }
  QkvArrays ids = mask_to_segment_ids(*fields_.attention_mask, per_head);
  return replace({.q_segment_ids = std::move(ids.q), .kv_segment_ids = std::move(ids.kv)});
}

MaskArray MaskInfo::get_or_compute_attention_mask(DType dtype) {
  trace_call("MaskInfo.get_or_compute_attention_mask");
  if (fields_.attention_mask) return fields_.attention_mask->astype(dtype);
  if (fields_.q_segment_ids && fields_.kv_segment_ids) {
    fields_.attention_mask =
        segment_ids_to_mask(*fields_.q_segment_ids, *fields_.kv_segment_ids, dtype);
    return *fields_.attention_mask;
  }
  throw PythonError(PythonType::kValueError,
                    fmt::format("Cannot compute attention mask: {} using from_attention_mask() or "
                                "from_segments().",
                                kEmptyHint));
}

QkvArrays MaskInfo::get_or_compute_segment_ids(bool per_head) {
  trace_call("MaskInfo.get_or_compute_segment_ids");
  if (!fields_.q_segment_ids || !fields_.kv_segment_ids) {
    if (!fields_.attention_mask) {
      throw PythonError(PythonType::kValueError,
                        fmt::format("Cannot compute segment IDs: {} using from_attention_mask() or "
                                    "from_segments().",
                                    kEmptyHint));
    }
    QkvArrays ids = mask_to_segment_ids(*fields_.attention_mask, per_head);
    fields_.q_segment_ids = std::move(ids.q);
    fields_.kv_segment_ids = std::move(ids.kv);
  }
  return {fields_.q_segment_ids, fields_.kv_segment_ids};
}

QkvArrays MaskInfo::get_or_compute_qkv_cu_seqlens(DType out_dtype, Index max_segments) {
  trace_call("MaskInfo.get_or_compute_qkv_cu_seqlens");
  Array& q = fields_.cu_seqlens_q;
  Array& kv = fields_.cu_seqlens_kv;
  if (q && kv) return {cast(q, out_dtype), cast(kv, out_dtype)};
  if (q || kv) {
    q = kv = cast(q ? q : kv, out_dtype);
  } else if (fields_.q_segment_ids && fields_.kv_segment_ids) {
    const auto lengths = [&](const Array& ids) {
      const Array numbers = first_head(int32_array(ids));
      return make_array(segment_ids_to_cu_seqlens(*numbers, out_dtype, max_segments));
    };
    Array q_lengths = lengths(fields_.q_segment_ids);
    kv = lengths(fields_.kv_segment_ids);
    q = std::move(q_lengths);
  } else {
    if (!fields_.attention_mask) {
      throw PythonError(PythonType::kValueError,
                        fmt::format("Cannot compute cu_seqlens: {}.", kEmptyHint));
    }
    const QkvArrays open = open_lines_of(get_or_compute_attention_mask());
    QkvArrays pairs = qkv_masks_to_cu_seqlens(*open.q, open.kv, out_dtype);
    q = std::move(pairs.q);
    kv = std::move(pairs.kv);
  }
  return {q, kv};
}

QkvArrays MaskInfo::get_or_compute_positions() {
  trace_call("MaskInfo.get_or_compute_positions");
  Array& q = fields_.q_positions;
  Array& kv = fields_.kv_positions;
  if (q && kv) return {q, kv};
  if (!fields_.q_segment_ids || !fields_.kv_segment_ids) {
    if (!fields_.attention_mask) return {q, kv};
    get_or_compute_segment_ids();
  }
  Array q_new = q, kv_new = kv;  // if one of the two fails, neither is stored
  if (!q) q_new = make_array(positions_from_segments_2d(*int32_array(fields_.q_segment_ids), -1));
  if (!kv) {
    kv_new = make_array(positions_from_segments_2d(*int32_array(fields_.kv_segment_ids),
                                                   std::numeric_limits<std::int32_t>::max()));
  }
  q = std::move(q_new);
  kv = std::move(kv_new);
  return {q, kv};
}

QkvMasks MaskInfo::get_qkv_masks(DType dtype) {
  trace_call("MaskInfo.get_qkv_masks");
  const QkvArrays ids = get_or_compute_segment_ids();
  return segment_ids_to_qkv_masks(ids.q, ids.kv, dtype);
}

Tensor MaskInfo::create_bias(DType dtype, Index max_bytes) {
  trace_call("MaskInfo.create_bias");
  const MaskArray mask = get_or_compute_attention_mask();
  const auto cells = checked_product(mask.shape());
  const auto bytes = cells ? checked_mul(*cells, size_bytes(dtype)) : std::nullopt;
  if (!bytes || *bytes > max_bytes) {
    throw Error(Errc::kLimit,
                fmt::format("a bias {} of {} takes more than {} bytes; slice the mask or raise the "
                            "limit",
                            shape_text(mask.shape()), name(dtype), max_bytes));
  }
  return bias_of(mask.tensor(max_bytes), dtype);
}

MaskInfo MaskInfo::to_dtype(DType dtype) {
  trace_call("MaskInfo.to_dtype");
  const MaskArray mask = get_or_compute_attention_mask();
  if (mask.dtype() == dtype) return *this;
  return replace({.attention_mask = mask.astype(dtype)});
}

MaskInfo MaskInfo::replace(const Replacement& fields) const {
  trace_call("MaskInfo.replace");
  MaskInfo out = *this;
  const auto set = [](Array& field, const Array& value) {
    if (value) field = value;
  };
  if (fields.attention_mask) out.fields_.attention_mask = fields.attention_mask;
  set(out.fields_.q_segment_ids, fields.q_segment_ids);
  set(out.fields_.kv_segment_ids, fields.kv_segment_ids);
  set(out.fields_.q_positions, fields.q_positions);
  set(out.fields_.kv_positions, fields.kv_positions);
  const bool changed = fields.attention_mask || fields.q_segment_ids || fields.kv_segment_ids;
  if (changed && !fields.cu_seqlens_q && !fields.cu_seqlens_kv) {
    out.fields_.cu_seqlens_q = out.fields_.cu_seqlens_kv = nullptr;
  }
  set(out.fields_.cu_seqlens_q, fields.cu_seqlens_q);
  set(out.fields_.cu_seqlens_kv, fields.cu_seqlens_kv);
  if (fields.baked_in) out.fields_.baked_in = *fields.baked_in;
  AxisNames& axes = out.fields_.axes;
  if (fields.batch_axis) axes.batch = *fields.batch_axis;
  if (fields.qheads_axis) axes.qheads = *fields.qheads_axis;
  if (fields.kvheads_axis) axes.kvheads = *fields.kvheads_axis;
  if (fields.sequence_axis) axes.sequence = *fields.sequence_axis;
  return out;
}

}  // namespace maskctl
