// scaled_dot_product_attention as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/sdpa/sdpa.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

struct ScaledDotProductAttentionOp : DenseOp, NoHints {
  using Options = ScaledDotProductAttentionOptions;
  using Output = SoftmaxResult;
  using Config = ScaledDotProductAttentionConfig;
  static constexpr OpInfo kInfo{.id = "scaled_dot_product_attention",
                                .algorithm = "scaled_dot_product_attention",
                                .cache_name = "sdpa",
                                .tunes = false};

  template <class I, class O, class F>
  static void arrays(I& in, O& o, F&& f) {
    qkv_arrays(in, f);
    f("bias", o.bias, "b h q k");
    f("query_lengths", o.query_lengths, "b");
    f("key_lengths", o.key_lengths, "b");
    f("attention_mask", o.attention_mask, "b k;b q k;b H q k");
    f("mask", o.mask, "b H q k");
    f("mask_info", o.mask_info, "");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("softmax_scale", o.softmax_scale);
    f("causal", o.causal);
    window_scalars(o.sliding_window, f);
    f("causal_alignment", o.causal_alignment);
    f("empty_row", o.empty_row);
  }
  static Output forward(const Inputs& in, const Options& o) {
    return scaled_dot_product_attention(*in.query, *in.key, *in.value, o);
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    return scaled_dot_product_attention_backward(*in.query, *in.key, *in.value, out, *d.out, o);
  }
  static void complete(Inputs&, Options& o, OwnedArrays& owned) {
    if (o.bias || !o.init_bias) return;
    o.bias = &owned.tensors.emplace_back(o.init_bias());
    o.init_bias = nullptr;
  }
};
using ScaledDotProductAttention = Module<ScaledDotProductAttentionOp>;

}  // namespace maskctl::attention
