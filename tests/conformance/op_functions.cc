// The free functions that cases call: conversions, packed sequences, random numbers, corrected
// partition specs.
#include <limits>

#include "conformance/mismatch.h"
#include "conformance/ops.h"
#include "maskctl/base/threefry.h"
#include "maskctl/ejkernel/mask_info/conversions.h"
#include "maskctl/mask/arrays/packed.h"
#include "maskctl/tensor/convert.h"

namespace conformance {

using maskctl::DType;
using maskctl::Index;
using maskctl::Tensor;

namespace {

Value literal_of(const Tensor& scalar) {
  if (scalar.dtype() == DType::kBool) return scalar.bytes()[0] != std::byte{0};
  if (is_integer(scalar.dtype())) return maskctl::as_int64(scalar, "scalar")[0];
  return astype(scalar, DType::kFloat64).as<double>()[0];
}

Outputs segment_ids_to_mask(Args& args) {
  const auto [q, kv] = args.one_or_pair("segment_ids");
  const DType dtype = args.dtype("dtype", DType::kBool);
  if (args.flag("return_separate_masks")) {
    return outputs_of(maskctl::segment_ids_to_qkv_masks(q, kv, dtype));
  }
  return outputs_of(kv ? maskctl::segment_ids_to_mask(*q, *kv, dtype)
                       : maskctl::segment_ids_to_mask(*q, dtype));
}

/// Random words of a seed. The golden data was made with JAX's 64-bit mode off, so that only the
/// low half of a seed counts.
std::vector<std::uint32_t> words_of(Args& args, const std::vector<Index>& shape) {
  const auto seed = static_cast<std::uint32_t>(args.integer("seed", 0));
  std::vector<std::uint32_t> words(
      static_cast<std::size_t>(Tensor(DType::kBool, shape).elements()));
  maskctl::random_bits(maskctl::prng_key(seed), 0, words);
  return words;
}

Outputs jax_random_bits(Args& args) {
  Tensor out(DType::kInt32, args.integers("shape"));
  std::ranges::copy(words_of(args, out.shape()), out.as<std::uint32_t>().begin());
  return outputs_of(out);
}

Outputs jax_random_uniform(Args& args) {
  Tensor out(DType::kFloat32, args.integers("shape"));
  std::ranges::transform(words_of(args, out.shape()), out.as<float>().begin(),
                         maskctl::uniform_from_bits);
  return outputs_of(out);
}

Outputs identity_dtype_convert(Args& args) {
  const auto convert = maskctl::identity_dtype_convert(args.dtype("dtype", DType::kFloat32));
  return outputs_of(convert.forward(args.tensor("x")), convert.backward(args.tensor("cotangent")));
}

Outputs get_corrected_named_sharding(Args& args) {
  const std::vector<Index> shape = args.integers("shape");
  return {{"out0", value_of(maskctl::get_corrected_named_sharding(
                       shape, args.partition_spec("partition_spec"), args.mesh("mesh")))}};
}

}  // namespace

Value value_of(const maskctl::PartitionSpec& spec) {
  Value::List entries;
  for (const maskctl::AxisName& entry : spec.axes) entries.push_back(value_of(entry));
  return entries;
}

Output output_of(Tensor tensor) {
  if (tensor.rank() == 0) return literal_of(tensor);
  return tensor;
}

Output output_of(const maskctl::Array& array) { return array ? output_of(*array) : Output(); }

Output output_of(const maskctl::MaskArray& array) { return output_of(array.tensor()); }

Outputs outputs_of(const maskctl::QkvArrays& arrays) { return outputs_of(arrays.q, arrays.kv); }

Outputs outputs_of(const maskctl::QkvMasks& masks) {
  return outputs_of(masks.q, masks.kv, masks.attention);
}

const Table<Function>& conversions() {
  static const Table<Function> table = {
      {"mask_to_segment_ids",
       [](Args& args) {
         return outputs_of(
             maskctl::mask_to_segment_ids(*args.mask_array("mask"), args.flag("per_head")));
       }},
      {"segment_ids_to_mask", segment_ids_to_mask},
      {"segment_ids_to_qkv_masks",
       [](Args& args) {
         return outputs_of(maskctl::segment_ids_to_qkv_masks(args.array("q_segment_ids"),
                                                             args.array("kv_segment_ids"),
                                                             args.dtype("dtype", DType::kBool)));
       }},
      {"qkv_masks_to_cu_seqlens",
       [](Args& args) {
         return outputs_of(maskctl::qkv_masks_to_cu_seqlens(
             args.tensor("q_mask"), args.array("kv_mask"), args.dtype("out_dtype", DType::kInt32)));
       }},
      {"cu_seqlens_to_mask",
       [](Args& args) {
         return outputs_of(maskctl::cu_seqlens_to_mask(args.tensor("cu_seqlens"),
                                                       args.integer("max_len"),
                                                       args.dtype("dtype", DType::kBool)));
       }},
      {"qkv_cu_seqlens_to_qkv_masks",
       [](Args& args) {
         return outputs_of(maskctl::qkv_cu_seqlens_to_qkv_masks(
             args.tensor("cu_seqlens_q"), args.integer("max_q_len"), args.array("cu_seqlens_kv"),
             args.optional_integer("max_kv_len"), args.dtype("dtype", DType::kBool)));
       }},
      {"qkv_cu_seqlens_to_attention_mask",
       [](Args& args) {
         return outputs_of(maskctl::qkv_cu_seqlens_to_attention_mask(
             args.tensor("cu_seqlens_q"), args.integer("max_q_len"), args.array("cu_seqlens_kv"),
             args.optional_integer("max_kv_len"), args.dtype("dtype", DType::kBool)));
       }},
      {"attention_mask_to_qkv_cu_seqlens",
       [](Args& args) {
         return outputs_of(maskctl::attention_mask_to_qkv_cu_seqlens(
             *args.mask_array("attention_mask"), args.text("reduce_heads", "any"),
             args.dtype("out_dtype", DType::kInt32)));
       }},
      {"_segment_ids_to_cu_seqlens",
       [](Args& args) {
         return outputs_of(maskctl::segment_ids_to_cu_seqlens(
             args.tensor("segment_ids"), args.dtype("out_dtype", DType::kInt32),
             args.integer("max_segments", 128)));
       }},
      {"_attention_mask_to_padding_segment_ids",
       [](Args& args) {
         return outputs_of(
             maskctl::attention_mask_to_padding_segment_ids(*args.mask_array("attention_mask")));
       }},
      {"_positions_from_segments_2d",
       [](Args& args) {
         return outputs_of(maskctl::positions_from_segments_2d(
             args.tensor("segment_ids"), static_cast<std::int32_t>(args.integer("pad_value"))));
       }},
      {"_compress_ids_from_anchors",
       [](Args& args) {
         return outputs_of(
             maskctl::compress_ids_from_anchors(args.tensor("anchors"), args.tensor("pad_mask")));
       }},
      {"create_chunked_attention_mask",
       [](Args& args) {
         return outputs_of(maskctl::create_chunked_attention_mask(
             args.integer("chunk_size"), args.integer("q_len"), args.optional_integer("kv_len"),
             args.integer("offset", 0), args.dtype("dtype", DType::kBool)));
       }},
  };
  return table;
}

const Table<Function>& sequence_utils() {
  static const Table<Function> table = {
      {"cdiv",
       [](Args& args) { return outputs_of(maskctl::cdiv(args.tensor("a"), args.integer("b"))); }},
      {"prepare_lens",
       [](Args& args) { return outputs_of(maskctl::prepare_lens(args.tensor("cu_seqlens"))); }},
      {"prepare_lens_from_mask",
       [](Args& args) { return outputs_of(maskctl::prepare_lens_from_mask(args.tensor("mask"))); }},
      {"prepare_cu_seqlens_from_mask",
       [](Args& args) {
         return outputs_of(maskctl::prepare_cu_seqlens_from_mask(
             args.tensor("mask"), args.dtype("out_dtype", DType::kInt32)));
       }},
      {"prepare_position_ids",
       [](Args& args) {
         return outputs_of(maskctl::prepare_position_ids(args.tensor("cu_seqlens")));
       }},
      {"prepare_sequence_ids",
       [](Args& args) {
         return outputs_of(maskctl::prepare_sequence_ids(args.tensor("cu_seqlens")));
       }},
      {"prepare_token_indices",
       [](Args& args) {
         return outputs_of(maskctl::prepare_token_indices(args.tensor("cu_seqlens")));
       }},
      {"prepare_chunk_indices",
       [](Args& args) {
         return outputs_of(
             maskctl::prepare_chunk_indices(args.tensor("cu_seqlens"), args.integer("chunk_size")));
       }},
      {"prepare_chunk_offsets",
       [](Args& args) {
         return outputs_of(
             maskctl::prepare_chunk_offsets(args.tensor("cu_seqlens"), args.integer("chunk_size")));
       }},
      {"identity_dtype_convert", identity_dtype_convert},
      {"jax_random_bits", jax_random_bits},
      {"jax_random_uniform", jax_random_uniform},
      {"get_corrected_named_sharding", get_corrected_named_sharding},
  };
  return table;
}

}  // namespace conformance
