// ragged_page_attention (version 2) as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/paged/ragged_page_attention.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

struct RaggedPageAttentionOp : RaggedPageOp {
  using Inputs = RaggedPageAttentionInputs;
  using Options = RaggedPageAttentionOptions;
  using Output = Tensor;
  using Gradients = NoGradients;
  using Config = RaggedPageAttentionConfig;
  static constexpr OpInfo kInfo{.id = "ragged_page_attention",
                                .algorithm = "ragged_page_attention",
                                .cache_name = "ragged-page-attention",
                                .version = "1",
                                .tune_backward = false,
                                .splittable = "h u"};
  static constexpr std::string_view kOutLabels = "t h d";

  template <class I, class O, class F>
  static void arrays(I& in, O&, F&& f) {
    f("queries", in.queries, "t h d");
    f("kv_pages", in.kv_pages, "p s 2u d");
    f("context_lens", in.context_lens, "n");
    f("block_tables", in.block_tables, "n m");
    f("query_start_loc", in.query_start_loc, "i");
    f("num_seqs", in.num_seqs, ";i");
    f("softmax_aux", in.softmax_aux, "s;H s");
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
  static Output forward(const Inputs& in, const Options& o) { return ragged_page_attention(in, o); }
  static std::vector<Config> candidates(const Inputs& in, const Options&) {
    return candidates_of<Config>(in.kv_pages);
  }
};
using RaggedPageAttention = Module<RaggedPageAttentionOp>;

}  // namespace maskctl::attention
