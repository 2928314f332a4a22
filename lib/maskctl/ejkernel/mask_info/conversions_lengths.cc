// Converts (start, end) pairs, which ejkernel calls "cu_seqlens", to masks, and masks to pairs.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "maskctl/ejkernel/mask_info/conversions.h"
#include "maskctl/ejkernel/mask_info/debug_trace.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The valid tokens of each batch row, clamped to [0, max_len).
std::vector<Range> valid_ranges(const Tensor& cu, Index max_len) {
  if (max_len < 0) value_error(fmt::format("max_len must be non-negative, got {}.", max_len));
  if (cu.rank() != 1) {
    value_error(fmt::format("cu_seqlens must be 1D, got shape {}.", shape_text(cu.shape())));
  }
  if (cu.extent(0) % 2 != 0) {
    value_error(fmt::format("cu_seqlens must have even length (batch*2), got {}.", cu.extent(0)));
  }
  const Tensor wide = astype(cu, DType::kFloat64);
  // The first token at or after an entry, which may be fractional.
  const auto token = [&](double entry) {
    return static_cast<Index>(std::ceil(std::clamp(entry, 0.0, static_cast<double>(max_len))));
  };
  std::vector<Range> ranges;
  const auto entries = wide.as<double>();
  for (std::size_t i = 0; i < entries.size(); i += 2) {
    const bool comparable = entries[i] < entries[i + 1];  // also false for NaN
    ranges.push_back(comparable ? Range{token(entries[i]), token(entries[i + 1])} : Range{});
  }
  return ranges;
}

/// The range [start, end) from the first to the last nonzero element in each row of [B,S]; 0 and 0
/// if there is none.
Tensor start_end(const Tensor& mask, DType out_dtype) {
  const Index batch = mask.extent(0), length = mask.extent(1);
  if (length == 0) value_error("attempt to get argmax of an empty sequence");
  const Tensor open = astype(mask, DType::kBool);
  Tensor pairs(DType::kInt32, {2 * batch});
  const auto to = pairs.as<std::int32_t>();
  for (Index b = 0; b < batch; ++b) {
    const auto row = open.as<std::uint8_t>().subspan(static_cast<std::size_t>(b * length),
                                                     static_cast<std::size_t>(length));
    const auto first = std::find(row.begin(), row.end(), std::uint8_t{1});
    if (first == row.end()) continue;
    const auto last = std::find(row.rbegin(), row.rend(), std::uint8_t{1});
    to[static_cast<std::size_t>(2 * b)] = static_cast<std::int32_t>(first - row.begin());
    to[static_cast<std::size_t>(2 * b + 1)] = static_cast<std::int32_t>(row.rend() - last);
  }
  return astype(pairs, out_dtype);
}

}  // namespace

QkvArrays qkv_masks_to_cu_seqlens(const Tensor& q_mask, const Array& kv_mask, DType out_dtype) {
  trace_call("ArrayImpl.qkv_masks_to_cu_seqlens");
  const Tensor& keys = kv_mask ? *kv_mask : q_mask;
  if (q_mask.rank() != 2 || keys.rank() != 2) {
    value_error(fmt::format("Expected 2D q_mask/kv_mask, got shapes {} and {}.",
                            shape_text(q_mask.shape()), shape_text(keys.shape())));
  }
  const Array q = make_array(start_end(q_mask, out_dtype));
  return {q, kv_mask ? make_array(start_end(keys, out_dtype)) : q};
}

Tensor cu_seqlens_to_mask(const Tensor& cu_seqlens, Index max_len, DType dtype) {
  trace_call("ArrayImpl.cu_seqlens_to_mask");
  const auto ranges = valid_ranges(cu_seqlens, max_len);
  Tensor mask(DType::kBool, {static_cast<Index>(ranges.size()), max_len});
  auto row = mask.as<std::uint8_t>().begin();
  for (const Range& range : ranges) {
    std::fill_n(row + range.begin, range.size(), std::uint8_t{1});
    row += max_len;
  }
  return astype(mask, dtype);
}

QkvArrays qkv_cu_seqlens_to_qkv_masks(const Tensor& cu_q, Index max_q_len, const Array& cu_kv,
                                      std::optional<Index> max_kv_len, DType dtype) {
  trace_call("ArrayImpl.qkv_cu_seqlens_to_qkv_masks");
  Tensor q = cu_seqlens_to_mask(cu_q, max_q_len, dtype);
  Tensor kv = cu_seqlens_to_mask(cu_kv ? *cu_kv : cu_q, max_kv_len.value_or(max_q_len), dtype);
  return {make_array(std::move(q)), make_array(std::move(kv))};
}

MaskArray qkv_cu_seqlens_to_attention_mask(const Tensor& cu_q, Index max_q_len, const Array& cu_kv,
                                           std::optional<Index> max_kv_len, DType dtype) {
  // ejkernel calls the functions with these names internally, so they appear in the trace.
  for (const char* name :
       {"ArrayImpl.qkv_cu_seqlens_to_attention_mask", "ArrayImpl.qkv_cu_seqlens_to_qkv_masks",
        "ArrayImpl.cu_seqlens_to_mask", "ArrayImpl.cu_seqlens_to_mask"}) {
    trace_call(name);
  }
  const Index keys = max_kv_len.value_or(max_q_len);
  const auto q = valid_ranges(cu_q, max_q_len);
  const auto kv = valid_ranges(cu_kv ? *cu_kv : cu_q, keys);
  if (q.size() != kv.size() && q.size() != 1 && kv.size() != 1) {
    throw PythonError(
        PythonType::kTypeError,
        fmt::format("pairs of {} and {} batches do not match: expected equal numbers, or 1",
                    q.size(), kv.size()));
  }
  const auto batch = static_cast<Index>(q.size() == 1 ? kv.size() : q.size());
  const auto of = [](const std::vector<Range>& ranges, Index b) {
    return ranges[ranges.size() == 1 ? 0 : static_cast<std::size_t>(b)];
  };
  const Mask mask = Mask::make(batch, 1, max_q_len, keys, [&](Index b, Index) {
    if (of(q, b).empty() || of(kv, b).empty()) return empty_plane(max_q_len, keys);
    return rectangle(max_q_len, keys, of(q, b), of(kv, b));
  });
  return MaskArray(mask, 4, dtype);
}

}  // namespace maskctl
