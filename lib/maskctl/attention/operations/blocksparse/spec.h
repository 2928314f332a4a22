// The row of blocksparse_attention.
#pragma once

#include "maskctl/attention/operations/blocksparse/blocksparse.h"
#include "maskctl/attention/softmax/fields.h"

namespace maskctl::attention {

/// Heads before time. The sharded form may split the queries over
/// sequence_parallelism_mesh_axis_name.
struct BlockSparseAttentionOp {
  using Inputs = QkvInputs;
  using Options = BlocksparseAttentionOptions;
  using Call = CallOf<Inputs, Options>;
  using Output = SoftmaxResult;
  using Gradients = SoftmaxGradients;
  using Config = BlockSparseAttentionConfig;
  static const Operation& operation();

  static Output forward(const Inputs& in, const Options& o) {
    return blocksparse_attention(*in.query, *in.key, *in.value, o);
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    return blocksparse_attention_backward(*in.query, *in.key, *in.value, out, *d.out, o, d.lse);
  }
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    return block_candidates<Config>();
  }
  static void check_sharding(const Options& o, const ShardPlan& plan);
  /// Lazy masks know heads by their number in the whole.
  static void localise(Inputs&, Options& o, const Shard& shard, const ShardPlan& plan,
                       OwnedArrays&);

  static constexpr std::array kFields =
      join(pick(kDenseArrays<Call>, {{"query", "query", "B Hq Tq D"},
                                     {"key", "key", "B Hkv Tk D"},
                                     {"value", "value", "B Hkv Tk Dv"}}),
           pick(kBiasAndSinks<Call>, {"softmax_aux", "bias"}),
           pick(kMaskFields<&Call::options, &Options::mask>,
                {"q_segment_ids",
                 "kv_segment_ids",
                 "q_positions",
                 "kv_positions",
                 "block_mask",
                 {"causal", "causal", "true (default), false"},
                 "sliding_window",
                 {"chunk_size", "chunk_size", "tokens"},
                 "block_size",
                 {"mask", "cell_mask"},
                 "mask_info",
                 "block_map"}),
           std::array{
               unlisted<&Call::options, &Options::static_mask>("mask", kCloses),
               option<&Call::options, &Options::sequence_parts>(
                   "sequence_parts", "parts of the queries, one after another; 1"),
           },
           pick(kSoftmaxFields<&Call::options, &Options::softmax>,
                {"softmax_scale", "logits_soft_cap", "empty_row", "q_blocksize", "kv_blocksize"}));
};

inline constexpr ResultField kBlocksparseOutputs[] = {
    result<&SoftmaxResult::out>("out", "B Hq Tq Dv"),
    result<&SoftmaxResult::lse>("lse", "B Hq Tq"),
};
inline constexpr Operation kBlocksparseAttention = describe<BlockSparseAttentionOp>({
    .name = "blocksparse_attention",
    .summary = "lazy masks and maps of blocks, heads before time",
    .fields = BlockSparseAttentionOp::kFields,
    .outputs = kBlocksparseOutputs,
    .gradients = kSoftmaxGradients,
    .cotangents = "out lse",
    .cache_name = "blocksparse",
    .collective = "Tq",
});
inline const Operation& BlockSparseAttentionOp::operation() { return kBlocksparseAttention; }

}  // namespace maskctl::attention
