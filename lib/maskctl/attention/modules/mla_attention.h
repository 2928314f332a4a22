// mla_attention as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/mla/mla.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

struct MlaInputs {
  const Tensor* query = nullptr;
  const Tensor* key_value = nullptr;
  const Tensor* w_kc = nullptr;
  const Tensor* w_vc = nullptr;
};

struct FlashMLAOp : DenseOp {
  using Inputs = MlaInputs;
  using Options = MlaAttentionOptions;
  using Output = SoftmaxResult;
  using Gradients = MlaGradients;
  using Config = FlashMLAConfig;
  static constexpr OpInfo kInfo{.id = "flash_mla", .algorithm = "flash_mla", .cache_name = "mla"};

  template <class I, class O, class F>
  static void arrays(I& in, O& o, F&& f) {
    f("query", in.query, "b q h d");
    f("key_value", in.key_value, "b k r");
    f("w_kc", in.w_kc, "r u d");
    f("w_vc", in.w_vc, "r u e");
    f("b_q", o.b_q, "b q p");
    f("b_k", o.b_k, "b k p");
    f("cu_seqlens", o.cu_seqlens, "b+");
    f("attention_mask", o.attention_mask, "b k;b q k;b H q k");
    f("mask", o.mask, "b H q k");
    f("mask_info", o.mask_info, "");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("softmax_scale", o.softmax_scale);
    f("causal", o.causal);
    f("causal_alignment", o.causal_alignment);
    f("empty_row", o.empty_row);
  }
  template <class F>
  static void gradients(Gradients& gradients, F&& f) {
    f("query", gradients.query);
    f("key_value", gradients.key_value);
    f("w_kc", gradients.w_kc);
    f("w_vc", gradients.w_vc);
    f("b_q", gradients.b_q);
    f("b_k", gradients.b_k);
  }
  static Output forward(const Inputs& in, const Options& o) {
    return mla_attention(*in.query, *in.key_value, *in.w_kc, *in.w_vc, o);
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    return mla_attention_backward(*in.query, *in.key_value, *in.w_kc, *in.w_vc, out, *d.out, o);
  }
  static void apply(const Config& config, Options& o, bool) {
    o.q_blocksize = config.block_q;
    o.kv_blocksize = config.block_k;
  }
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    std::vector<Config> candidates;
    for (const Index q : {48, 96, 192}) {
      for (const Index k : {64, 256}) candidates.push_back({.block_q = q, .block_k = k});
    }
    return candidates;
  }
};
using FlashMLA = Module<FlashMLAOp>;

}  // namespace maskctl::attention
