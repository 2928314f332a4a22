// lightning_attention as a module.
#pragma once

#include "maskctl/attention/modules/linear_op.h"
#include "maskctl/attention/operations/linear/lightning.h"

namespace maskctl::attention {

struct LightningAttentionOp : LinearOp<LightningAttentionConfig> {
  using Inputs = LightningAttentionInputs;
  using Options = LightningAttentionOptions;
  static constexpr OpInfo kInfo{.id = "lightning_attn",
                                .algorithm = "lightning_attn",
                                .cache_name = "lightning-attention",
                                .version = "1"};

  template <class I, class O, class F>
  static void arrays(I& in, O&, F&& f) {
    qkv_arrays(in, f);
    f("initial_state", in.initial_state, "b h k v");
    f("cu_seqlens", in.cu_seqlens, "i");
    f("decay", in.decay, ";h");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("layer_idx", o.layer_idx);
    f("num_layers", o.num_layers);
    LinearOp::scalars(o, f);
  }
  static Output forward(const Inputs& in, const Options& o) { return lightning_attention(in, o); }
  static Gradients backward(const Inputs& in, const Output&, const Cotangents& d,
                            const Options& o) {
    return lightning_attention_backward(in, *d.out, o, d.final_state);
  }
  /// The decay of a head depends on its number in the whole.
  static void complete(Inputs& in, Options& o, OwnedArrays& owned) {
    if (in.decay || !o.layer_idx || !o.num_layers || in.query->rank() != 4) return;
    in.decay = &owned.tensors.emplace_back(
        lightning_decay(in.query->extent(2), *o.layer_idx, *o.num_layers));
    o.layer_idx = o.num_layers = std::nullopt;
  }
};
using LightningAttention = Module<LightningAttentionOp>;

}  // namespace maskctl::attention
