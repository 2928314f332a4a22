// gla_attention as a module.
#pragma once

#include "maskctl/attention/modules/linear_op.h"
#include "maskctl/attention/operations/linear/gla.h"

namespace maskctl::attention {

struct GLAttentionOp : LinearOp<GLAttentionConfig> {
  using Inputs = GlaAttentionInputs;
  using Options = GlaAttentionOptions;
  static constexpr OpInfo kInfo{
      .id = "gla", .algorithm = "gla", .cache_name = "gla", .version = "1"};

  template <class I, class O, class F>
  static void arrays(I& in, O&, F&& f) {
    qkv_arrays(in, f);
    f("g", in.g, "b t h k;b t h");
    f("g_gamma", in.g_gamma, "h");
    f("initial_state", in.initial_state, "b h k v");
    f("cu_seqlens", in.cu_seqlens, "i");
    f("gate", in.gate, "b t h k;b t h");
  }
  static Output forward(const Inputs& in, const Options& o) { return gla_attention(in, o); }
  static Gradients backward(const Inputs& in, const Output&, const Cotangents& d,
                            const Options& o) {
    return gla_attention_backward(in, *d.out, o, d.final_state);
  }
  /// One name for each array.
  static void complete(Inputs& in, Options&, OwnedArrays&) {
    if (in.gate && !in.g) in.g = std::exchange(in.gate, nullptr);
  }
};
using GLAttention = Module<GLAttentionOp>;

}  // namespace maskctl::attention
