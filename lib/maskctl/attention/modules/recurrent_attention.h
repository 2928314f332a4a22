// recurrent_attention as a module.
#pragma once

#include "maskctl/attention/modules/linear_op.h"
#include "maskctl/attention/operations/linear/recurrent.h"

namespace maskctl::attention {

struct RecurrentAttentionOp : LinearOp<RecurrentAttentionConfig> {
  using Inputs = RecurrentAttentionInputs;
  using Options = RecurrentAttentionOptions;
  static constexpr OpInfo kInfo{
      .id = "recurrent", .algorithm = "recurrent", .cache_name = "recurrent", .version = "1"};

  template <class I, class O, class F>
  static void arrays(I& in, O&, F&& f) {
    qkv_arrays(in, f);
    f("g", in.g, "b t h k;b t h");
    f("g_gamma", in.g_gamma, "h");
    f("gk", in.gk, "b t h k");
    f("gv", in.gv, "b t h v");
    f("initial_state", in.initial_state, "b h k v");
    f("cu_seqlens", in.cu_seqlens, "i");
    f("state", in.state, "b h k v");
  }
  static Output forward(const Inputs& in, const Options& o) { return recurrent_attention(in, o); }
  static Gradients backward(const Inputs& in, const Output&, const Cotangents& d,
                            const Options& o) {
    return recurrent_attention_backward(in, *d.out, o, d.final_state);
  }
  /// One name for each array.
  static void complete(Inputs& in, Options& o, OwnedArrays&) {
    if (!in.state || in.initial_state) return;
    in.initial_state = std::exchange(in.state, nullptr);
    o.return_state = true;
  }
};
using RecurrentAttention = Module<RecurrentAttentionOp>;

}  // namespace maskctl::attention
