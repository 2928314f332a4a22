// The properties of a MaskInfo that cases can read, by name.
#include "conformance/ops.h"

namespace conformance {

using maskctl::DType;
using maskctl::Index;
using maskctl::MaskInfo;

namespace {

Value value_of_extent(std::optional<Index> extent) { return extent ? Value(*extent) : Value(); }

Output shape(MaskInfo& info) {
  Value::List extents;
  for (const auto& extent : info.shape()) extents.push_back(value_of_extent(extent));
  return extents;
}

Output baked_in_masks(MaskInfo& info) {
  const maskctl::BakedInMasks& baked = info.baked_in_masks();
  return Value::Dict{{"causal", baked.causal},
                     {"sliding_window", baked.sliding_window},
                     {"chunked", baked.chunked},
                     {"token_type_ids", baked.token_type_ids}};
}

Output materialized(MaskInfo& info) {
  const maskctl::MaskInfoFields& fields = info.fields();
  return Value::Dict{{"attention_mask", fields.attention_mask.has_value()},
                     {"q_segment_ids", fields.q_segment_ids != nullptr},
                     {"kv_segment_ids", fields.kv_segment_ids != nullptr},
                     {"cu_seqlens_q", fields.cu_seqlens_q != nullptr},
                     {"cu_seqlens_kv", fields.cu_seqlens_kv != nullptr},
                     {"q_positions", fields.q_positions != nullptr},
                     {"kv_positions", fields.kv_positions != nullptr}};
}

Output axis_names(MaskInfo& info) {
  const maskctl::AxisNames& axes = info.fields().axes;
  return Value::Dict{{"batch_axis_name", value_of(axes.batch)},
                     {"qheads_axis_name", value_of(axes.qheads)},
                     {"kvheads_axis_name", value_of(axes.kvheads)},
                     {"sequence_axis_name", value_of(axes.sequence)}};
}

}  // namespace

const Table<Property>& properties() {
  static const Table<Property> table = {
      {"attention_mask", [](MaskInfo& info) { return output_of(info.attention_mask()); }},
      {"q_segment_ids", [](MaskInfo& info) { return output_of(info.q_segment_ids()); }},
      {"kv_segment_ids", [](MaskInfo& info) { return output_of(info.kv_segment_ids()); }},
      {"cu_seqlens_q", [](MaskInfo& info) { return output_of(info.cu_seqlens_q()); }},
      {"cu_seqlens_kv", [](MaskInfo& info) { return output_of(info.cu_seqlens_kv()); }},
      {"q_attention_mask", [](MaskInfo& info) { return output_of(info.q_attention_mask()); }},
      {"q_position_ids", [](MaskInfo& info) { return output_of(info.q_position_ids()); }},
      {"q_lens", [](MaskInfo& info) { return output_of(info.q_lens()); }},
      {"kv_lens", [](MaskInfo& info) { return output_of(info.kv_lens()); }},
      {"q_positions", [](MaskInfo& info) { return output_of(info.fields().q_positions); }},
      {"kv_positions", [](MaskInfo& info) { return output_of(info.fields().kv_positions); }},
      {"positions.q", [](MaskInfo& info) { return output_of(info.get_or_compute_positions().q); }},
      {"positions.kv",
       [](MaskInfo& info) { return output_of(info.get_or_compute_positions().kv); }},
      {"bias", [](MaskInfo& info) { return output_of(info.bias()); }},
      {"bias_float16", [](MaskInfo& info) { return output_of(info.create_bias(DType::kFloat16)); }},
      {"bias_bfloat16",
       [](MaskInfo& info) { return output_of(info.create_bias(DType::kBFloat16)); }},
      {"is_self_attention", [](MaskInfo& info) { return Output(Value(info.is_self_attention())); }},
      {"is_multi_sequence", [](MaskInfo& info) { return Output(Value(info.is_multi_sequence())); }},
      {"batch_size", [](MaskInfo& info) { return Output(value_of_extent(info.batch_size())); }},
      {"q_len", [](MaskInfo& info) { return Output(value_of_extent(info.q_len())); }},
      {"kv_len", [](MaskInfo& info) { return Output(value_of_extent(info.kv_len())); }},
      {"shape", shape},
      {"repr", [](MaskInfo& info) { return Output(Value(info.repr())); }},
      {"baked_in_masks", baked_in_masks},
      {"materialized", materialized},
      {"mask_dtype",
       [](MaskInfo& info) {
         return Output(Value(std::string(maskctl::name(info.attention_mask().dtype()))));
       }},
      {"axis_names", axis_names},
  };
  return table;
}

}  // namespace conformance
