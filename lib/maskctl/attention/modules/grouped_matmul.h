// grouped_matmul as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/grouped_matmul/grouped_matmul.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

/// The sharded form splits rows (m) and columns (n); each device computes the sizes of the groups
/// in its rows.
struct GroupedMatmulOp {
  using Inputs = GroupedMatmulInputs;
  using Options = GroupedMatmulOptions;
  using Output = Tensor;
  using Gradients = GroupedMatmulGradients;
  using Config = GroupedMatmulConfig;
  static constexpr OpInfo kInfo{.id = "grouped_matmul",
                                .algorithm = "grouped_matmul",
                                .cache_name = "grouped-matmul",
                                .version = "1",
                                .splittable = "m n"};
  static constexpr std::string_view kOutLabels = "m n";

  template <class I, class O, class F>
  static void arrays(I& in, O& o, F&& f) {
    f("lhs", in.lhs, "m k");
    f("rhs", in.rhs, o.transpose_rhs ? "g n k" : "g k n");
    f("group_sizes", in.group_sizes, "g");
    f("group_offset", in.group_offset, ";i");
    f("existing_out", in.existing_out, "m n");
    f("group_ids", in.group_ids, "m");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("preferred_element_type", o.preferred_element_type);
    f("transpose_rhs", o.transpose_rhs);
    f("existing_out_mode", o.existing_out_mode);
  }
  template <class F>
  static void outputs(Output& out, F&& f) {
    f("out", out, "m n");
  }
  template <class F>
  static void gradients(Gradients& gradients, F&& f) {
    f("lhs", gradients.lhs);
    f("rhs", gradients.rhs);
    f("existing_out", gradients.existing_out);
  }
  static Output forward(const Inputs& in, const Options& o) { return grouped_matmul(in, o); }
  static Gradients backward(const Inputs& in, const Output&, const Cotangents& d,
                            const Options& o) {
    return grouped_matmul_backward(in, *d.out, o);
  }
  static void apply(const Config& config, Options& o, bool) {
    o.block_m = config.block_m, o.block_n = config.block_n, o.block_k = config.block_k;
  }
  static Config heuristic() { return {.block_m = 384, .block_n = 128, .block_k = 256}; }
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    std::vector<Config> candidates;
    for (const Index m : {96, 384}) {
      for (const Index n : {64, 256}) {
        for (const Index k : {128, 512}) {
          candidates.push_back({.block_m = m, .block_n = n, .block_k = k});
        }
      }
    }
    return candidates;
  }
  static void localise(Inputs& in, Options& o, const Shard& shard, const ShardPlan& plan,
                       OwnedArrays& owned);
};
using GroupedMatmul = Module<GroupedMatmulOp>;

}  // namespace maskctl::attention
