// blocksparse_attention as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/blocksparse/blocksparse.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

/// Heads before time. The sharded form may split the queries over
/// sequence_parallelism_mesh_axis_name.
struct BlockSparseAttentionOp : DenseOp {
  using Options = BlocksparseAttentionOptions;
  using Output = SoftmaxResult;
  using Config = BlockSparseAttentionConfig;
  static constexpr OpInfo kInfo{.id = "blocksparse_attention",
                                .algorithm = "blocksparse_attention",
                                .cache_name = "blocksparse",
                                .collective = "q"};
  static constexpr std::string_view kOutLabels = "b h q e";

  template <class I, class O, class F>
  static void arrays(I& in, O& o, F&& f) {
    f("query", in.query, "b h q d");
    f("key", in.key, "b u k d");
    f("value", in.value, "b u k e");
    f("softmax_aux", o.softmax_aux, "s;H s");
    f("bias", o.bias, "b h q k");
    f("q_segment_ids", o.q_segment_ids, "q;b q");
    f("kv_segment_ids", o.kv_segment_ids, "k;b k");
    f("q_positions", o.q_positions, "q;b q");
    f("kv_positions", o.kv_positions, "k;b k");
    f("block_mask", o.block_mask, "i j;H i j;b H i j");
    f("block_map", o.block_map, "");
    f("cell_mask", o.cell_mask, "b H q k");
    f("mask_info", o.mask_info, "");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("mask", o.mask != nullptr);
    f("mask_builder", static_cast<bool>(o.mask_builder));
    f("block_size", o.block_size);
    f("softmax_scale", o.softmax_scale);
    f("logits_soft_cap", o.logits_soft_cap);
    window_scalars(o.sliding_window, f);
    f("chunk_size", o.chunk_size);
    f("causal", o.causal);
    f("empty_row", o.empty_row);
    f("sequence_parts", o.sequence_parts);
  }
  template <class F>
  static void outputs(Output& out, F&& f) {
    f("out", out.out, "b h q e");
    f("lse", out.lse, "b h q");
  }
  static Output forward(const Inputs& in, const Options& o) {
    return blocksparse_attention(*in.query, *in.key, *in.value, o);
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    return blocksparse_attention_backward(*in.query, *in.key, *in.value, out, *d.out, o, d.lse);
  }
  static void apply(const Config& config, Options& o, bool backward) {
    backward ? apply_blocks(config.bwd_params, o) : apply_blocks(config.fwd_params, o);
  }
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    return block_candidates<Config>();
  }
  /// Throws Error(kInvalidArgument) when queries are split over another axis.
  static void check_sharding(const Inputs&, const Options& o, const Sharding&,
                             const ShardPlan& plan);
  /// Lazy masks know heads by their number in the whole.
  static void localise(Inputs&, Options& o, const Shard& shard, const ShardPlan& plan,
                       OwnedArrays&) {
    o.sequence_parts = plan.parts("q");
    if (!shard.splits("h")) return;
    const Range heads = shard.range("h");
    if (o.mask && o.mask->shape().size() == 3) {
      const std::vector<lazy::MaskPtr> all = lazy::heads_of(o.mask);
      o.mask = lazy::multi_head_mask({all.begin() + heads.begin, all.begin() + heads.end});
    }
    if (!o.mask_builder) return;
    o.mask_builder = [whole = o.mask_builder, heads, count = shard.extents.at("h")](
                         Index q_len, Index kv_len, Index, Index head, Index reps) {
      return whole(q_len, kv_len, count, heads.begin + head, reps);
    };
  }
};
using BlockSparseAttention = Module<BlockSparseAttentionOp>;

}  // namespace maskctl::attention
