// mean_pooling as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/mean_pooling/mean_pooling.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

struct MeanPoolingOp : NoHints {
  using Inputs = MeanPoolingInputs;
  using Options = MeanPoolingOptions;
  using Output = Tensor;
  struct Gradients {
    Tensor x;
  };
  using Config = MeanPoolingConfig;
  static constexpr OpInfo kInfo{.id = "mean_pooling",
                                .algorithm = "mean_pooling",
                                .cache_name = "pooling",
                                .splittable = "b",
                                .least_specs = 1};
  static constexpr std::string_view kOutLabels = "b";

  template <class I, class O, class F>
  static void arrays(I& in, O&, F&& f) {
    f("x", in.x, in.cu_seqlens ? "t;t c;t c d;t c d e" : kXLabels);
    f("cu_seqlens", in.cu_seqlens, "i");
    f("attention_mask", in.attention_mask, "b t");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("chunk_size", o.chunk_size);
    f("mode", o.mode);
  }
  template <class F>
  static void outputs(Output& out, F&& f) {
    f("out", out, kXLabels);
  }
  template <class F>
  static void gradients(Gradients& gradients, F&& f) {
    f("x", gradients.x);
  }
  static Output forward(const Inputs& in, const Options& o) { return mean_pooling(in, o); }
  static Gradients backward(const Inputs& in, const Output&, const Cotangents& d,
                            const Options& o) {
    return {mean_pooling_backward(in, *d.out, o)};
  }

  static constexpr std::string_view kXLabels = "b;b t;b t c;b t c d;b t c d e";
};
using MeanPooling = Module<MeanPoolingOp>;

}  // namespace maskctl::attention
