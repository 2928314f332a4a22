// flash_attention as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/flash/flash.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

struct FlashAttentionOp : DenseOp {
  using Options = FlashAttentionOptions;
  using Output = SoftmaxResult;
  using Config = FlashAttentionConfig;
  static constexpr OpInfo kInfo{
      .id = "flash_attention", .algorithm = "flash_attention", .cache_name = "flash-attn"};

  template <class I, class O, class F>
  static void arrays(I& in, O& o, F&& f) {
    qkv_arrays(in, f);
    f("bias", o.bias, "b h q k");
    f("softmax_aux", o.softmax_aux, "s;H s");
    f("cum_seqlens_q", o.cum_seqlens_q, "b+");
    f("cum_seqlens_k", o.cum_seqlens_k, "b+");
    f("attention_mask", o.attention_mask, "b k;b q k;b H q k");
    f("q_segment_ids", o.q_segment_ids, "q;b q");
    f("kv_segment_ids", o.kv_segment_ids, "k;b k");
    f("mask", o.mask, "b H q k");
    f("mask_info", o.mask_info, "");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("softmax_scale", o.softmax_scale);
    f("dropout_prob", o.dropout_prob);
    f("causal", o.causal);
    window_scalars(o.sliding_window, f);
    f("logits_soft_cap", o.logits_soft_cap);
    f("unnormalized", !o.normalize_output);
    f("causal_alignment", o.causal_alignment);
    f("empty_row", o.empty_row);
  }
  static Output forward(const Inputs& in, const Options& o) {
    return flash_attention(*in.query, *in.key, *in.value, o);
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    return flash_attention_backward(*in.query, *in.key, *in.value, out, *d.out, o, d.lse);
  }
  static void apply(const Config& config, Options& o, bool backward) {
    backward ? apply_blocks(config.bwd_params, o) : apply_blocks(config.fwd_params, o);
  }
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    return block_candidates<Config>();
  }
  static void localise(Inputs&, Options& o, const Shard& shard, const ShardPlan&, OwnedArrays&) {
    place(shard, o);
  }
};
using FlashAttention = Module<FlashAttentionOp>;

}  // namespace maskctl::attention
