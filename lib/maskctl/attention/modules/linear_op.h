// What the modules of the linear family share.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/linear/recurrent.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

/// Config: the tokens of a chunk are its block_q.
template <class C>
struct LinearOp {
  using Config = C;
  using Output = LinearAttentionResult;
  using Gradients = LinearAttentionGradients;
  static constexpr std::string_view kOutLabels = "b t h v";

  template <class I, class F>
  static void qkv_arrays(I& in, F&& f) {
    f("query", in.query, "b t h k");
    f("key", in.key, "b t u k");
    f("value", in.value, "b t u v");
  }
  template <class Options, class F>
  static void scalars(const Options& o, F&& f) {
    f("softmax_scale", o.softmax_scale);
    f("reverse", o.reverse);
    f("return_state", o.return_state);
  }
  template <class F>
  static void outputs(Output& out, F&& f) {
    f("out", out.out, kOutLabels);
    f("final_state", out.final_state, "b h k v");
  }
  template <class F>
  static void gradients(Gradients& gradients, F&& f) {
    f("query", gradients.query);
    f("key", gradients.key);
    f("value", gradients.value);
    f("g", gradients.g);
    f("g_gamma", gradients.g_gamma);
    f("gk", gradients.gk);
    f("gv", gradients.gv);
    f("initial_state", gradients.initial_state);
  }
  template <class Options>
  static void apply(const Config& config, Options& o, bool) {
    o.chunk_size = config.block_q;
  }
  template <class Inputs, class Options>
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    std::vector<Config> candidates;
    for (const Index tokens : {32, 48, 96}) candidates.push_back({.block_q = tokens});
    return candidates;
  }
};

}  // namespace maskctl::attention
