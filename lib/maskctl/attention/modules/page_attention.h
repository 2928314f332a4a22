// page_attention as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/paged/page_attention.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

struct PageAttentionOp {
  using Inputs = PageAttentionInputs;
  using Options = PageAttentionOptions;
  using Output = Tensor;
  using Gradients = NoGradients;
  using Config = PageAttentionConfig;
  static constexpr OpInfo kInfo{.id = "page_attention",
                                .algorithm = "page_attention",
                                .cache_name = "page-attention",
                                .version = "1",
                                .tune_backward = false,
                                .splittable = "n h u"};
  static constexpr std::string_view kOutLabels = "n h d";
  static std::string_view out_labels(const Inputs& in) {
    return in.query->rank() == 4 ? "n i h d" : kOutLabels;
  }

  template <class I, class O, class F>
  static void arrays(I& in, O& o, F&& f) {
    const std::string_view cache = o.kv_layout == KvLayout::kHeadsFirst ? "p u s d" : "p s u d";
    f("query", in.query, "n h d;n i h d");
    f("key_cache", in.key_cache, cache);
    f("value_cache", in.value_cache, cache);
    f("context_lens", in.context_lens, "n");
    f("block_tables", in.block_tables, "n m");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("attn_scale", o.attn_scale);
    f("attn_logits_soft_cap", o.attn_logits_soft_cap);
    f("kv_layout", o.kv_layout);
    f("max_context_len", o.max_context_len);
  }
  template <class F>
  static void outputs(Output& out, F&& f) {
    f("out", out, "n h d;n i h d");
  }
  static Output forward(const Inputs& in, const Options& o) { return page_attention(in, o); }
  static void apply(const Config& config, Options& o, bool) {
    if (config.num_splits > 0) o.num_splits = config.num_splits;
    o.pages_per_compute_block = config.pages_per_compute_block.value_or(o.pages_per_compute_block);
  }
  static std::vector<Config> candidates(const Inputs& in, const Options& o) {
    std::vector<Config> candidates;
    for (const Index splits : {1, 2, 4, 8}) candidates.push_back({.num_splits = splits});
    const bool heads_first = o.kv_layout == KvLayout::kHeadsFirst;
    for (const Index pages : page_counts(in.key_cache, heads_first ? 2 : 1)) {
      candidates.push_back({.pages_per_compute_block = pages});
    }
    return candidates;
  }
};
using PageAttention = Module<PageAttentionOp>;

}  // namespace maskctl::attention
