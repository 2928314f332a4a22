// docs/seed.md names everything that the seed has.
#include <fstream>
#include <sstream>
#include <string>

#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("every name of the seed is mapped") {
  std::ifstream file(MASKCTL_SOURCE_DIR "/docs/seed.md");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  for (const std::string name : {"MaskInfo",
                                 "MaskInfo.from_segments",
                                 "MaskInfo.from_attention_mask",
                                 "MaskInfo.from_cu_seqlens",
                                 "MaskInfo.from_random",
                                 "MaskInfo.dynamic_init",
                                 "attention_mask",
                                 "q_segment_ids",
                                 "kv_segment_ids",
                                 "cu_seqlens_q",
                                 "cu_seqlens_kv",
                                 "q_lens",
                                 "kv_lens",
                                 "q_positions",
                                 "kv_positions",
                                 "batch_axis_name",
                                 "qheads_axis_name",
                                 "kvheads_axis_name",
                                 "sequence_axis_name",
                                 "q_attention_mask",
                                 "q_position_ids",
                                 "bias",
                                 "create_bias",
                                 "batch_size",
                                 "q_len",
                                 "kv_len",
                                 "shape",
                                 "is_multi_sequence",
                                 "is_self_attention",
                                 "baked_in_masks",
                                 "__repr__",
                                 "apply_causal",
                                 "apply_sliding_window",
                                 "apply_chunked",
                                 "apply_token_type_ids",
                                 "apply_kv_lengths",
                                 "to_dtype",
                                 "materialize_attention_mask",
                                 "materialize_segment_ids",
                                 "get_or_compute_attention_mask",
                                 "get_or_compute_segment_ids",
                                 "get_or_compute_qkv_cu_seqlens",
                                 "get_or_compute_positions",
                                 "get_qkv_masks",
                                 "replace",
                                 "tree_flatten",
                                 "tree_unflatten",
                                 "visualize",
                                 "get_shardings",
                                 "MaskSharding",
                                 "get_empty_sharding",
                                 "set_debug_mode",
                                 "get_debug_mode",
                                 "mask_to_segment_ids",
                                 "segment_ids_to_mask",
                                 "segment_ids_to_qkv_masks",
                                 "qkv_masks_to_cu_seqlens",
                                 "cu_seqlens_to_mask",
                                 "qkv_cu_seqlens_to_qkv_masks",
                                 "qkv_cu_seqlens_to_attention_mask",
                                 "attention_mask_to_qkv_cu_seqlens",
                                 "create_chunked_attention_mask",
                                 "_segment_ids_to_cu_seqlens",
                                 "_attention_mask_to_padding_segment_ids",
                                 "_positions_from_segments_2d",
                                 "_compress_ids_from_anchors",
                                 "Mask",
                                 "CausalMask",
                                 "LocalMask",
                                 "ChunkedCausalMask",
                                 "FullMask",
                                 "NumpyMask",
                                 "LogicalAnd",
                                 "LogicalOr",
                                 "MultiHeadMask",
                                 "make_causal_mask",
                                 "make_local_attention_mask",
                                 "make_chunk_attention_mask",
                                 "make_random_mask",
                                 "cdiv",
                                 "prepare_lens",
                                 "prepare_lens_from_mask",
                                 "prepare_cu_seqlens_from_mask",
                                 "prepare_position_ids",
                                 "prepare_sequence_ids",
                                 "prepare_token_indices",
                                 "prepare_chunk_indices",
                                 "prepare_chunk_offsets",
                                 "identity_dtype_convert"}) {
    INFO(name);
    CHECK(page.find(std::string("`").append(name).append("`")) != std::string::npos);
  }
}

}  // namespace
}  // namespace maskctl::test
