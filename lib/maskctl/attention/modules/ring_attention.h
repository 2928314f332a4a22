// ring_attention as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

/// The sharded form splits the sequences over `axis_name`, by a ring of the devices along it.
struct RingAttentionOp : DenseOp {
  using Options = RingAttentionOptions;
  using Output = SoftmaxResult;
  using Config = RingAttentionConfig;
  static constexpr OpInfo kInfo{.id = "ring_attention",
                                .algorithm = "ring_attention",
                                .cache_name = "ring-attention",
                                .collective = "q k"};

  template <class I, class O, class F>
  static void arrays(I& in, O& o, F&& f) {
    qkv_arrays(in, f);
    f("bias", o.bias, "b h q k");
    f("softmax_aux", o.softmax_aux, "s;H s");
    f("attention_mask", o.attention_mask, "b k;b q k;b H q k");
    f("q_segment_ids", o.q_segment_ids, "q;b q");
    f("kv_segment_ids", o.kv_segment_ids, "k;b k");
    f("mask", o.mask, "b H q k");
    f("mask_info", o.mask_info, "");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("segment_padding", o.segment_padding);
    f("ring_size", o.ring_size);
    f("softmax_scale", o.softmax_scale);
    f("logits_soft_cap", o.logits_soft_cap);
    f("causal", o.causal);
    f("causal_block_size", o.causal_block_size);
    f("chunk_size", o.chunk_size);
    window_scalars(o.sliding_window, f);
    f("attention_sink_size", o.attention_sink_size);
    f("pdrop", o.deterministic ? 0 : o.pdrop);
    f("empty_row", o.empty_row);
  }
  static Output forward(const Inputs& in, const Options& o) {
    return ring_attention(*in.query, *in.key, *in.value, o);
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    return ring_attention_backward(*in.query, *in.key, *in.value, out, *d.out, o, d.lse);
  }
  static void apply(const Config& config, Options& o, bool) {
    o.query_chunk_size = config.query_chunk_size;
    o.key_chunk_size = config.key_chunk_size;
  }
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    std::vector<Config> candidates;
    for (const Index size : {128, 256, 1024}) {
      candidates.push_back({.query_chunk_size = size, .key_chunk_size = size});
    }
    return candidates;
  }
  /// Throws Error(kInvalidArgument) unless queries and keys are split over axis_name alone, and
  /// when a mask_info has another sequence axis.
  static void check_sharding(const Inputs& in, const Options& o, const Sharding& sharding,
                             const ShardPlan& plan);
  static void localise(Inputs&, Options& o, const Shard& shard, const ShardPlan& plan,
                       OwnedArrays&) {
    place(shard, o);
    o.ring_size = plan.parts("q");
  }
};
using RingAttention = Module<RingAttentionOp>;

}  // namespace maskctl::attention
