// Cases of MaskInfo: its constructors, methods that return a MaskInfo, and methods that end a chain
// of calls.
#include "conformance/mismatch.h"
#include "conformance/ops.h"
#include "maskctl/ejkernel/mask_info/sharding.h"
#include "maskctl/ejkernel/visualize/mask_info_view.h"

namespace conformance {

using maskctl::AxisName;
using maskctl::DType;
using maskctl::Index;
using maskctl::MaskInfo;

namespace {

maskctl::MaskInfoExtras extras_of(Args& args) {
  const maskctl::AxisNames axes;
  return {args.array("q_positions"),
          args.array("kv_positions"),
          {args.axis_name("batch_axis_name", axes.batch),
           args.axis_name("qheads_axis_name", axes.qheads),
           args.axis_name("kvheads_axis_name", axes.kvheads),
           args.axis_name("sequence_axis_name", axes.sequence)}};
}

std::optional<std::vector<Index>> shape_of(Args& args, const std::string& name) {
  if (!args.given(name)) return std::nullopt;
  return args.tensor(name).shape();
}

MaskInfo dynamic_init(Args& args) {
  if (args.given("mask_info")) throw Mismatch("mask_info of dynamic_init can be None only");
  MaskInfo::DynamicInputs inputs;
  inputs.input_ids_shape = shape_of(args, "input_ids");
  inputs.inputs_embeds_shape = shape_of(args, "inputs_embeds");
  inputs.attention_mask = args.mask_array("attention_mask");
  return MaskInfo::dynamic_init(inputs);
}

MaskInfo raw(Args& args) {
  maskctl::MaskInfoFields fields;
  fields.attention_mask = args.mask_array("attention_mask");
  fields.q_segment_ids = args.array("q_segment_ids");
  fields.kv_segment_ids = args.array("kv_segment_ids");
  fields.cu_seqlens_q = args.array("cu_seqlens_q");
  fields.cu_seqlens_kv = args.array("cu_seqlens_kv");
  maskctl::MaskInfoExtras extras = extras_of(args);
  fields.q_positions = extras.q_positions;
  fields.kv_positions = extras.kv_positions;
  fields.axes = extras.axes;
  return MaskInfo(std::move(fields));
}

maskctl::SlidingWindow window_of(Args& args, const std::string& name) {
  if (!args.value(name).get_if<Value::List>()) return args.integer(name);
  const std::vector<Index> sides = args.integers(name);
  if (sides.size() != 2) throw Mismatch("window " + args.value(name).text() + " has not two sides");
  return std::pair(sides[0], sides[1]);
}

MaskInfo apply_causal(MaskInfo& info, Args& args) {
  return info.apply_causal(args.has("offset") ? args.per_batch("offset") : Index{0});
}

MaskInfo apply_sliding_window(MaskInfo& info, Args& args) {
  maskctl::SlidingWindowOptions options;
  if (args.has("offset")) options.offset = args.per_batch("offset");
  if (args.given("mode")) options.mode = args.text("mode", "");
  if (args.given("index")) options.index = args.per_batch("index");
  return info.apply_sliding_window(window_of(args, "sliding_window"), options);
}

MaskInfo apply_token_type_ids(MaskInfo& info, Args& args) {
  maskctl::TokenTypeOptions options{args.text("combine", "union"), args.text("zero_policy", "q")};
  if (args.given("update_segment_ids")) {
    options.update_segment_ids = args.flag("update_segment_ids");
  }
  const auto [q, kv] = args.one_or_pair("token_type_ids");
  return info.apply_token_type_ids(*q, kv, options);
}

MaskInfo apply_kv_lengths(MaskInfo& info, Args& args) {
  return info.apply_kv_lengths(
      args.tensor("kv_lengths"),
      {args.optional_integer("q_len"), args.optional_integer("sliding_window")});
}

std::optional<maskctl::BakedInMasks> flags_of(const MaskInfo& info, Args& args) {
  maskctl::BakedInMasks baked = info.baked_in_masks();
  baked.causal = args.flag("causal_mask_baked_in", baked.causal);
  baked.sliding_window = args.flag("sliding_window_baked_in", baked.sliding_window);
  baked.chunked = args.flag("chunked_mask_baked_in", baked.chunked);
  baked.token_type_ids = args.flag("token_type_ids_baked_in", baked.token_type_ids);
  return baked;
}

std::optional<AxisName> new_axis(Args& args, const std::string& name) {
  if (!args.has(name)) return std::nullopt;
  return args.axis_name(name, {});
}

MaskInfo replace(MaskInfo& info, Args& args) {
  MaskInfo::Replacement fields;
  fields.attention_mask = args.mask_array("attention_mask");
  fields.q_segment_ids = args.array("q_segment_ids");
  fields.kv_segment_ids = args.array("kv_segment_ids");
  fields.cu_seqlens_q = args.array("cu_seqlens_q");
  fields.cu_seqlens_kv = args.array("cu_seqlens_kv");
  fields.q_positions = args.array("q_positions");
  fields.kv_positions = args.array("kv_positions");
  fields.baked_in = flags_of(info, args);
  fields.batch_axis = new_axis(args, "batch_axis_name");
  fields.qheads_axis = new_axis(args, "qheads_axis_name");
  fields.kvheads_axis = new_axis(args, "kvheads_axis_name");
  fields.sequence_axis = new_axis(args, "sequence_axis_name");
  maskctl::MaskInfoFields out = info.replace(fields).fields();
  // In Python, passing None clears positions, but no other field. Our replace() treats None as an
  // argument that was not passed, so that positions are set here.
  if (args.has("q_positions")) out.q_positions = fields.q_positions;
  if (args.has("kv_positions")) out.kv_positions = fields.kv_positions;
  return MaskInfo(std::move(out));
}

MaskInfo touch(MaskInfo& info, Args& args) {
  const std::string name = args.text("property", "");
  const Property property = find(properties(), name);
  if (!property) throw Mismatch("no property " + quoted(name));
  property(info);
  return info;
}

Outputs visualize(MaskInfo& info, Args& args) {
  maskctl::VisualizeOptions options;
  if (args.has("block_size")) options.block_size = window_of(args, "block_size");
  options.batch = args.integer("batch", options.batch);
  options.head = args.integer("head", options.head);
  options.fit_in_screen = args.flag("fit_in_screen", options.fit_in_screen);
  options.max_rows = args.integer("max_rows", options.max_rows);
  options.max_cols = args.integer("max_cols", options.max_cols);
  options.charset = args.text("charset", options.charset);
  options.show_segments = args.flag("show_segments", options.show_segments);
  args.flag("return_str");  // return_str is always true
  return {{"text", Value(maskctl::visualize(info, options))}};
}

Outputs get_shardings(MaskInfo& info, Args& args) {
  const maskctl::MaskSharding sharding =
      maskctl::get_shardings(info, args.mesh("mesh"), args.flag("sequence_parallel"));
  const auto value = [](const std::optional<maskctl::PartitionSpec>& spec) {
    return spec ? value_of(*spec) : Value();
  };
  return {{"attention_mask", value(sharding.attention_mask)},
          {"q_segment_ids", value(sharding.q_segment_ids)},
          {"kv_segment_ids", value(sharding.kv_segment_ids)},
          {"cu_seqlens_q", value(sharding.cu_seqlens_q)},
          {"cu_seqlens_kv", value(sharding.cu_seqlens_kv)},
          {"q_positions", value(sharding.q_positions)},
          {"kv_positions", value(sharding.kv_positions)}};
}

}  // namespace

const Table<Constructor>& constructors() {
  static const Table<Constructor> table = {
      {"from_segments",
       [](Args& args) {
         return MaskInfo::from_segments(args.tensor("q_segment_ids"), args.array("kv_segment_ids"),
                                        args.flag("is_attn_mask"), extras_of(args));
       }},
      {"from_attention_mask",
       [](Args& args) {
         return MaskInfo::from_attention_mask(*args.mask_array("attention_mask"),
                                              args.flag("mask_is_valid", true), extras_of(args));
       }},
      {"from_cu_seqlens",
       [](Args& args) {
         return MaskInfo::from_cu_seqlens(args.tensor("cu_seqlens_q"), args.integer("max_q_len"),
                                          args.array("cu_seqlens_kv"),
                                          args.optional_integer("max_kv_len"), extras_of(args));
       }},
      {"from_random",
       [](Args& args) {
         return MaskInfo::from_random(args.integer("batch_size"), args.integer("q_len"),
                                      args.optional_integer("kv_len"), args.number("sparsity", 0.5),
                                      args.integer("seed", 0), extras_of(args));
       }},
      {"dynamic_init", dynamic_init},
      {"raw", raw},
  };
  return table;
}

const Table<Method>& methods() {
  static const Table<Method> table = {
      {"apply_causal", apply_causal},
      {"apply_sliding_window", apply_sliding_window},
      {"apply_chunked",
       [](MaskInfo& info, Args& args) {
         return info.apply_chunked(args.integer("chunk_size"), args.integer("offset", 0));
       }},
      {"apply_token_type_ids", apply_token_type_ids},
      {"apply_kv_lengths", apply_kv_lengths},
      {"to_dtype",
       [](MaskInfo& info, Args& args) { return info.to_dtype(args.dtype("dtype", DType::kBool)); }},
      {"materialize_attention_mask",
       [](MaskInfo& info, Args& args) {
         return info.materialize_attention_mask(args.dtype("dtype", DType::kBool));
       }},
      {"materialize_segment_ids",
       [](MaskInfo& info, Args& args) {
         return info.materialize_segment_ids(args.flag("per_head"));
       }},
      {"replace", replace},
      {"touch", touch},
  };
  return table;
}

const Table<Getter>& getters() {
  static const Table<Getter> table = {
      {"get_qkv_masks",
       [](MaskInfo& info, Args& args) {
         return outputs_of(info.get_qkv_masks(args.dtype("dtype", DType::kBool)));
       }},
      {"get_or_compute_qkv_cu_seqlens",
       [](MaskInfo& info, Args& args) {
         return outputs_of(info.get_or_compute_qkv_cu_seqlens(
             args.dtype("out_dtype", DType::kInt32), args.integer("max_segments", 128)));
       }},
      {"get_or_compute_segment_ids",
       [](MaskInfo& info, Args& args) {
         return outputs_of(info.get_or_compute_segment_ids(args.flag("per_head")));
       }},
      {"get_or_compute_attention_mask",
       [](MaskInfo& info, Args& args) {
         return outputs_of(info.get_or_compute_attention_mask(args.dtype("dtype", DType::kBool)));
       }},
      {"get_or_compute_positions",
       [](MaskInfo& info, Args&) { return outputs_of(info.get_or_compute_positions()); }},
      {"create_bias",
       [](MaskInfo& info, Args& args) {
         return outputs_of(info.create_bias(args.dtype("dtype", DType::kFloat32)));
       }},
      {"visualize", visualize},
      {"get_shardings", get_shardings},
  };
  return table;
}

}  // namespace conformance
