// Registers blocksparse_attention: its fields, outputs and gradients.
#pragma once

#include "maskctl/attention/operations/blocksparse/blocksparse.h"
#include "maskctl/attention/softmax/fields.h"

namespace maskctl::attention {

inline constexpr ResultField kBlocksparseOutputs[] = {
    result<&SoftmaxResult::out>("out", "B Hq Tq Dv"),
    result<&SoftmaxResult::lse>("lse", "B Hq Tq"),
};

/// Arrays have heads before time. A mesh may split the queries along
/// sequence_parallelism_mesh_axis_name.
struct BlockSparseAttentionOp : FunctionOp<blocksparse_attention, blocksparse_attention_backward> {
  static void check_sharding(const Options& o, const ShardPlan& plan);
  /// Maps the heads of a shard to heads of the whole call for the static mask and mask_builder. On
  /// a ring, each rank gets its part of the queries.
  static void localise(Inputs&, Options& o, const Shard& shard, const ShardPlan& plan,
                       OwnedArrays&);

  /// Causal and window have no effect with a static mask or chunk_size, unless there are
  /// positions.
  static constexpr const char* kByIndex = "!mask|q_positions !chunk_size|q_positions";
  static constexpr std::array kFields =
      join(pick(kDenseArrays<Call>, {{"query", "query", "B Hq Tq D"},
                                     {"key", "key", "B Hkv Tk D"},
                                     {"value", "value", "B Hkv Tk Dv"}}),
           pick(kBiasAndSinks<Call>, {"softmax_aux", "bias"}),
           pick(kMaskFields<Call, &Options::mask>,
                {"q_segment_ids",
                 "kv_segment_ids",
                 "q_positions",
                 "kv_positions",
                 "block_mask",
                 {"causal", "causal", "true (default), false", kByIndex},
                 {"sliding_window", "sliding_window", "", kByIndex},
                 {"chunk_size", "chunk_size", "", "!mask"},
                 "block_size",
                 {"mask", "cell_mask"},
                 "block_map"}),
           std::array{
               unlisted<Call, &Options::static_mask>("mask", kCloses),
               needing("!mesh",
                       option<Call, &Options::sequence_parts>(
                           "sequence_parts", "parts of the queries, one after another; 1", kParts)),
               needing("mesh", option<Call, &Options::sequence_parallelism_mesh_axis_name>(
                                   "sequence_parallelism_mesh_axis_name",
                                   "the axis of the mesh that has parts of the queries", kParts)),
           },
           pick(kSoftmaxFields<Call, &Options::softmax>,
                {"softmax_scale", "logits_soft_cap", "empty_row", "q_blocksize", "kv_blocksize"}));

  static constexpr Operation kRow = {
      .name = "blocksparse_attention",
      .summary = "lazy masks and maps of blocks, heads before time",
      .outputs = kBlocksparseOutputs,
      .gradients = kSoftmaxGradients,
      .cotangents = "out lse",
      .collective = "Tq",
  };
};

}  // namespace maskctl::attention
