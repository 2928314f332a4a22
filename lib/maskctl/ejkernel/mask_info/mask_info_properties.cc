// The properties of MaskInfo: stored, or computed and cached when first read.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/error.h"
#include "maskctl/ejkernel/mask_info/debug_trace.h"
#include "maskctl/ejkernel/mask_info/mask_info_arrays.h"
#include "maskctl/ejkernel/mask_info/python_error.h"

namespace maskctl {
namespace {

constexpr Index kMostSegments = Index{1} << 28;

std::int32_t largest(std::span<const std::int32_t> ids) {
  if (ids.empty()) {
    throw PythonError(PythonType::kValueError,
                      "zero-size array to reduction operation max which has no identity");
  }
  return *std::ranges::max_element(ids);
}

/// The number of tokens of each id, from 0 to the largest id, over all batch rows.
Tensor tokens_of_ids(std::span<const std::int32_t> ids, Index count) {
  if (count > kMostSegments) {
    throw Error(Errc::kLimit, fmt::format("segment id {}: lengths are counted for at most {} ids; "
                                          "number the segments from 0",
                                          count - 1, kMostSegments));
  }
  Tensor lens(DType::kInt32, {count});
  for (const std::int32_t id : ids) {
    if (id >= 0) ++lens.as<std::int32_t>()[static_cast<std::size_t>(id)];
  }
  return lens;
}

/// The number of ids in each row (last axis) that are not padding.
Tensor tokens_of_rows(const Tensor& ids) {
  std::vector<Index> shape = ids.shape();
  const Index length = extent_of(shape, -1);
  shape.pop_back();
  Tensor lens(DType::kInt32, std::move(shape));
  for (Index row = 0; row < lens.elements(); ++row) {
    const auto tokens = ids.as<std::int32_t>().subspan(static_cast<std::size_t>(row * length),
                                                       static_cast<std::size_t>(length));
    lens.as<std::int32_t>()[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(
        std::ranges::count_if(tokens, [](std::int32_t id) { return id >= 0; }));
  }
  return lens;
}

/// The lengths of the segments if any id is above 0, else the lengths of the batch rows.
Array lens_of(const Array& stored) {
  if (!stored) return nullptr;
  const Array ids = first_head(int32_array(stored));
  const auto flat = ids->as<std::int32_t>();
  const Index most = largest(flat);
  return make_array(most > 0 ? tokens_of_ids(flat, most + 1) : tokens_of_rows(*ids));
}

}  // namespace

const MaskArray& MaskInfo::attention_mask() {
  trace_property("attention_mask");
  if (!fields_.attention_mask) fields_.attention_mask = get_or_compute_attention_mask();
  return *fields_.attention_mask;
}

Array MaskInfo::q_segment_ids() {
  trace_property("q_segment_ids");
  if (!fields_.q_segment_ids) get_or_compute_segment_ids();
  return fields_.q_segment_ids;
}

Array MaskInfo::kv_segment_ids() {
  trace_property("kv_segment_ids");
  if (!fields_.kv_segment_ids) get_or_compute_segment_ids();
  return fields_.kv_segment_ids;
}

Array MaskInfo::cu_seqlens_q() {
  trace_property("cu_seqlens_q");
  if (!fields_.cu_seqlens_q || !fields_.cu_seqlens_kv) get_or_compute_qkv_cu_seqlens();
  return fields_.cu_seqlens_q;
}

Array MaskInfo::cu_seqlens_kv() {
  trace_property("cu_seqlens_kv");
  if (!fields_.cu_seqlens_q || !fields_.cu_seqlens_kv) get_or_compute_qkv_cu_seqlens();
  return fields_.cu_seqlens_kv;
}

Array MaskInfo::q_lens() {
  trace_property("q_lens");
  return lens_of(fields_.q_segment_ids);
}

Array MaskInfo::kv_lens() {
  trace_property("kv_lens");
  return lens_of(fields_.kv_segment_ids);
}

Array MaskInfo::q_attention_mask() {
  const Array ids = int32_array(q_segment_ids());
  Tensor mask(DType::kInt32, ids->shape());
  std::ranges::transform(ids->as<std::int32_t>(), mask.as<std::int32_t>().begin(),
                         [](std::int32_t id) { return id == -1 ? 0 : 1; });
  return make_array(std::move(mask));
}

Array MaskInfo::q_position_ids() {
  const Array ids = fields_.q_segment_ids ? fields_.q_segment_ids : get_or_compute_segment_ids().q;
  return make_array(positions_from_segments_2d(*int32_array(ids), -1));
}

Tensor MaskInfo::bias() {
  trace_property("bias");
  return create_bias();
}

std::optional<Index> MaskInfo::batch_size() const {
  trace_property("batch_size");
  if (fields_.q_segment_ids) return extent_of(fields_.q_segment_ids->shape(), 0);
  if (fields_.attention_mask) return extent_of(fields_.attention_mask->shape(), 0);
  if (fields_.cu_seqlens_q) return extent_of(fields_.cu_seqlens_q->shape(), 0) - 1;
  if (fields_.cu_seqlens_kv) return extent_of(fields_.cu_seqlens_kv->shape(), 0) - 1;
  return std::nullopt;
}

std::optional<Index> MaskInfo::q_len() const {
  trace_property("q_len");
  if (fields_.q_segment_ids) return extent_of(fields_.q_segment_ids->shape(), -1);
  if (fields_.attention_mask) return extent_of(fields_.attention_mask->shape(), -2);
  return std::nullopt;
}

std::optional<Index> MaskInfo::kv_len() const {
  trace_property("kv_len");
  if (fields_.kv_segment_ids) return extent_of(fields_.kv_segment_ids->shape(), -1);
  if (fields_.attention_mask) return extent_of(fields_.attention_mask->shape(), -1);
  return std::nullopt;
}

std::array<std::optional<Index>, 3> MaskInfo::shape() const {
  trace_property("shape");
  return {batch_size(), q_len(), kv_len()};  // evaluated from left to right, as in ejkernel
}

bool MaskInfo::is_multi_sequence() const {
  trace_property("is_multi_sequence");
  const Array& stored = fields_.q_segment_ids ? fields_.q_segment_ids : fields_.kv_segment_ids;
  return stored && largest(first_head(int32_array(stored))->as<std::int32_t>()) > 0;
}

bool MaskInfo::is_self_attention() const {
  if (fields_.q_segment_ids && fields_.kv_segment_ids) {
    return array_equal(*fields_.q_segment_ids, *fields_.kv_segment_ids);
  }
  if (fields_.attention_mask) {
    const auto& shape = fields_.attention_mask->shape();
    return extent_of(shape, -2) == extent_of(shape, -1);
  }
  return fields_.cu_seqlens_q && fields_.cu_seqlens_kv &&
         array_equal(*fields_.cu_seqlens_q, *fields_.cu_seqlens_kv);
}

std::string MaskInfo::repr() const {
  std::string text = "MaskInfo(";
  const auto add = [&](const char* field, const std::vector<Index>& shape) {
    text += fmt::format("{}.shape={}, ", field, shape_text(shape));
  };
  if (fields_.attention_mask) add("attention_mask", fields_.attention_mask->shape());
  if (fields_.q_segment_ids) add("q_segment_ids", fields_.q_segment_ids->shape());
  if (fields_.kv_segment_ids) add("kv_segment_ids", fields_.kv_segment_ids->shape());
  if (fields_.cu_seqlens_q) add("cu_seqlens_q", fields_.cu_seqlens_q->shape());
  if (fields_.cu_seqlens_kv) add("cu_seqlens_kv", fields_.cu_seqlens_kv->shape());
  text += is_self_attention() ? "self_attn=True" : "self_attn=False";

  std::string baked;
  const auto flag = [&](bool set, const char* name) {
    if (set) baked += fmt::format("{}'{}'", baked.empty() ? "" : ", ", name);
  };
  flag(fields_.baked_in.causal, "causal");
  flag(fields_.baked_in.sliding_window, "sliding_window");
  flag(fields_.baked_in.chunked, "chunked");
  flag(fields_.baked_in.token_type_ids, "token_type_ids");
  if (!baked.empty()) text += fmt::format(", baked_in=[{}]", baked);
  return text + ")";
}

}  // namespace maskctl
