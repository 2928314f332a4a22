// ragged_decode_attention as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/paged/ragged_decode_attention.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

struct RaggedDecodeAttentionOp {
  using Inputs = RaggedDecodeAttentionInputs;
  using Options = RaggedDecodeAttentionOptions;
  using Output = Tensor;
  using Gradients = NoGradients;
  using Config = RaggedDecodeAttentionConfig;
  static constexpr OpInfo kInfo{.id = "ragged_decode_attention",
                                .algorithm = "ragged_decode_attention",
                                .cache_name = "ragged-decode-attention",
                                .version = "1",
                                .tune_backward = false};
  static constexpr std::string_view kOutLabels = "b h d";
  static std::string_view out_labels(const Inputs& in) {
    return in.query->rank() == 4 ? "b i h d" : kOutLabels;
  }

  template <class I, class O, class F>
  static void arrays(I& in, O&, F&& f) {
    f("query", in.query, "b h d;b i h d");
    f("key", in.key, "b k u d");
    f("value", in.value, "b k u d");
    f("sequence_start", in.sequence_start, "b");
    f("sequence_end", in.sequence_end, "b");
    f("softmax_aux", in.softmax_aux, "s;H s");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("softmax_scale", o.softmax_scale);
    window_scalars(o.sliding_window, f);
    f("logits_soft_cap", o.logits_soft_cap);
  }
  template <class F>
  static void outputs(Output& out, F&& f) {
    f("out", out, "b h d;b i h d");
  }
  static Output forward(const Inputs& in, const Options& o) {
    return ragged_decode_attention(in, o);
  }
  static void apply(const Config& config, Options& o, bool) {
    if (config.fwd_params) {
      o.kv_blocksize = config.fwd_params->kv_blocksize.value_or(o.kv_blocksize);
    }
  }
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    std::vector<Config> candidates;
    for (const Index size : {64, 128, 256, 512}) {
      candidates.push_back({.fwd_params = FwdParams{.kv_blocksize = size}});
    }
    return candidates;
  }
};
using RaggedDecodeAttention = Module<RaggedDecodeAttentionOp>;

}  // namespace maskctl::attention
