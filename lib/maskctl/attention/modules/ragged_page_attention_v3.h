// ragged_page_attention_v3 as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/paged/ragged_page_attention_v3.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

/// The arrays of a call and the cache that it updates.
struct RaggedPageAttentionV3Call : RaggedPageAttentionV3Inputs {
  Tensor* kv_cache = nullptr;
};

struct RaggedPageAttentionv3Op : RaggedPageOp {
  using Inputs = RaggedPageAttentionV3Call;
  using Options = RaggedPageAttentionV3Options;
  using Output = Tensor;
  using Gradients = NoGradients;
  using Config = RaggedPageAttentionv3Config;
  static constexpr OpInfo kInfo{.id = "ragged_page_attention_v3",
                                .algorithm = "ragged_page_attention_v3",
                                .cache_name = "ragged-page-attention-v3",
                                .version = "1",
                                .tune_backward = false,
                                .splittable = "h u",
                                .out_specs = 2};
  static constexpr std::string_view kOutLabels = "t h d";
  static constexpr std::string_view kUpdateLabels = "p s u i d";

  template <class I, class O, class F>
  static void arrays(I& in, O&, F&& f) {
    // 16-bit elements are packed in pairs, so that K and V of a head share an entry.
    const bool pairs = in.queries && size_bytes(in.queries->dtype()) == 2;
    f("queries", in.queries, "t h d");
    f("keys", in.keys, "t u d");
    f("values", in.values, "t u d");
    f("kv_cache", in.kv_cache, pairs ? "p s u i d" : "p s 2u i d");
    f("kv_lens", in.kv_lens, "n");
    f("block_tables", in.block_tables, "m");
    f("query_start_loc", in.query_start_loc, "i");
    f("distribution", in.distribution, "i");
    f("attention_sink", in.attention_sink, "h");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("softmax_scale", o.softmax_scale);
    f("logits_soft_cap", o.logits_soft_cap);
    f("sliding_window", o.sliding_window);
    f("q_scale", o.q_scale);
    f("k_scale", o.k_scale);
    f("v_scale", o.v_scale);
  }
  template <class F>
  static void outputs(Output& out, F&& f) {
    f("out", out, "t h d");
  }
  static Output forward(const Inputs& in, const Options& o) {
    return ragged_page_attention_v3(in, *in.kv_cache, o);
  }
  static std::vector<Config> candidates(const Inputs& in, const Options&) {
    return candidates_of<Config>(in.kv_cache);
  }
};
using RaggedPageAttentionv3 = Module<RaggedPageAttentionv3Op>;

/// Seed 003's call: keys and values are in the pages already.
struct RaggedPageAttentionv3PagesOp : RaggedPageOp {
  using Inputs = RaggedPageAttentionV3PagesInputs;
  using Options = RaggedPageAttentionV3PagesOptions;
  using Output = Tensor;
  using Gradients = NoGradients;
  using Config = RaggedPageAttentionv3Config;
  static constexpr OpInfo kInfo{.id = "ragged_page_attention_v3_pages",
                                .algorithm = "ragged_page_attention_v3",
                                .cache_name = "ragged-page-attention-v3",
                                .version = "1",
                                .tune_backward = false,
                                .splittable = "h u"};
  static constexpr std::string_view kOutLabels = "t h d";

  template <class I, class O, class F>
  static void arrays(I& in, O&, F&& f) {
    f("query", in.query, "t h d");
    f("key_pages", in.key_pages, "p s u d");
    f("value_pages", in.value_pages, "p s u d");
    f("cu_seqlens_q", in.cu_seqlens_q, "i");
    f("cu_seqlens_k", in.cu_seqlens_k, "i");
    f("page_indices", in.page_indices, "n m");
    f("softmax_aux", in.softmax_aux, "h");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("softmax_scale", o.softmax_scale);
    f("logits_soft_cap", o.logits_soft_cap);
    f("sliding_window", o.sliding_window);
  }
  template <class F>
  static void outputs(Output& out, F&& f) {
    f("out", out, "t h d");
  }
  static Output forward(const Inputs& in, const Options& o) {
    return ragged_page_attention_v3(in, o);
  }
  static std::vector<Config> candidates(const Inputs& in, const Options&) {
    return candidates_of<Config>(in.key_pages);
  }
};
using RaggedPageAttentionv3Pages = Module<RaggedPageAttentionv3PagesOp>;

}  // namespace maskctl::attention
