// attention as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/attention/attention.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

struct AttentionOp : DenseOp, NoHints {
  using Options = AttentionOptions;
  using Output = AttentionResult;
  using Config = AttentionConfig;
  static constexpr OpInfo kInfo{
      .id = "attention", .algorithm = "attention", .cache_name = "attention", .tunes = false};

  template <class I, class O, class F>
  static void arrays(I& in, O& o, F&& f) {
    qkv_arrays(in, f);
    f("bias", o.bias, "b H q k");
    f("softmax_aux", o.softmax_aux, "s;H s");
    f("attention_mask", o.attention_mask, "b k;b q k;b H q k");
    f("mask", o.mask, "b H q k");
    f("mask_info", o.mask_info, "");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("softmax_scale", o.softmax_scale);
    f("dropout_prob", o.deterministic ? 0 : o.dropout_prob);
    f("logits_soft_cap", o.logits_soft_cap);
    f("causal", o.causal);
    window_scalars(o.sliding_window, f);
    f("causal_alignment", o.causal_alignment);
    f("mask_with_bias", o.mask_with_bias);
    f("empty_row", o.empty_row);
  }
  template <class F>
  static void outputs(Output& out, F&& f) {
    DenseOp::outputs(out, f);
    f("weights", out.weights, "b h q k");
  }
  static Output forward(const Inputs& in, const Options& o) {
    return maskctl::attention::attention(*in.query, *in.key, *in.value, o);
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    return attention_backward(*in.query, *in.key, *in.value, out, *d.out, o);
  }
  static void complete(Inputs&, Options& o, OwnedArrays& owned) {
    if (o.bias || !o.init_bias) return;
    o.bias = &owned.tensors.emplace_back(o.init_bias());
    o.init_bias = nullptr;
  }
  static void localise(Inputs&, Options& o, const Shard& shard, const ShardPlan&, OwnedArrays&) {
    place(shard, o);
  }
};
using Attention = Module<AttentionOp>;

}  // namespace maskctl::attention
