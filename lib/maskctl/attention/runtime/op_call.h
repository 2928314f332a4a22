// A call of an operation: run with a config, on one device or on the shards of a mesh, and tuned.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/runtime/selector.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

/// How a call is to be run; with mesh, in_specs and out_specs all given, on shards of a mesh.
template <class Config>
struct CallOptions {
  std::optional<Platform> platform = {};  // wins over the config's
  std::optional<Config> cfg = {};         // wins over everything that is remembered
  std::optional<Mesh> mesh = {};
  std::vector<std::optional<PartitionSpec>> in_specs = {};
  std::vector<PartitionSpec> out_specs = {};

  /// Nothing unless all three are given.
  std::optional<Sharding> sharding() const {
    if (!mesh || in_specs.empty() || out_specs.empty()) return std::nullopt;
    return Sharding{*mesh, in_specs, out_specs};
  }
};

template <class Op>
typename Op::Output run_call(const KernelRegistry& kernels, const Module<Op>& module,
                             const typename Op::Inputs& inputs, const typename Op::Options& options,
                             const typename Op::Config& config,
                             const CallOptions<typename Op::Config>& call) {
  const auto run = [&](const typename Op::Inputs& in, const typename Op::Options& o) {
    return module.run(in, o, config, kernels, call.platform);
  };
  const std::optional<Sharding> sharding = call.sharding();
  return sharding ? ShardMap<Op>(inputs, options, *sharding).forward(run) : run(inputs, options);
}

/// The gradients; `forward` is what run_call gave.
template <class Op>
typename Op::Gradients run_call_backward(const KernelRegistry& kernels, const Module<Op>& module,
                                         const typename Op::Inputs& inputs,
                                         const typename Op::Output& forward,
                                         const Cotangents& cotangents,
                                         const typename Op::Options& options,
                                         const typename Op::Config& config,
                                         const CallOptions<typename Op::Config>& call) {
  const auto run = [&](const typename Op::Inputs& in, const typename Op::Output& out,
                       const Cotangents& d, const typename Op::Options& o) {
    return module.run_backward(in, out, d, o, config, kernels, call.platform);
  };
  const std::optional<Sharding> sharding = call.sharding();
  if (!sharding) return run(inputs, forward, cotangents, options);
  return ShardMap<Op>(inputs, options, *sharding).backward(forward, cotangents, run);
}

/// One call as the chain tunes it. Borrows all that it is given.
template <class Op>
class OpCall : public TunableCall {
 public:
  OpCall(const KernelRegistry& kernels, const Module<Op>& module, const typename Op::Inputs& inputs,
         const typename Op::Options& options, const CallOptions<typename Op::Config>& call)
      : kernels_(kernels), module_(module), inputs_(inputs), options_(options), call_(call) {}

  bool tunes() const override { return Op::kInfo.tunes; }
  std::optional<AnyConfig> heuristic_cfg() const override { return module_.heuristic_cfg(); }

  std::vector<AnyConfig> candidate_cfgs() const override {
    const auto own = module_.candidate_cfgs(inputs_, options_);
    return {own.begin(), own.end()};
  }

  void run(const AnyConfig& any, bool with_backward) const override {
    const auto& config = std::get<typename Op::Config>(any);
    typename Op::Output out = run_call(kernels_, module_, inputs_, options_, config, call_);
    if constexpr (Module<Op>::kHasBackward) {
      if (!with_backward || !Op::kInfo.tune_backward) return;
      const Tensor ones = like_out(out);
      run_call_backward(kernels_, module_, inputs_, out, {.out = &ones}, options_, config, call_);
    }
  }

 private:
  /// The gradient of sum(out) with respect to out; its values do not matter to a clock.
  static Tensor like_out(typename Op::Output& output) {
    Tensor ones;
    Op::outputs(output, [&](std::string_view name, auto& array, std::string_view) {
      if constexpr (std::is_same_v<decltype(array), Tensor&>) {
        if (name == "out") ones = array;
      }
    });
    return ones;
  }

  const KernelRegistry& kernels_;
  const Module<Op>& module_;
  const typename Op::Inputs& inputs_;
  const typename Op::Options& options_;
  const CallOptions<typename Op::Config>& call_;
};

/// A call with copies of its arrays, that can be tuned when the caller's are gone.
template <class Op>
struct KeptCall {
  KeptCall(const KernelRegistry& kernels, const Module<Op>& of, const typename Op::Inputs& in,
           const typename Op::Options& o, const CallOptions<typename Op::Config>& how)
      : module(of),
        inputs(in),
        options(o),
        call_options(how),
        call(kernels, module, inputs, options, call_options) {
    if constexpr (requires { Op::complete(inputs, options, owned); }) {
      Op::complete(inputs, options, owned);
    }
    Op::arrays(inputs, options, [this](std::string_view, auto& array, std::string_view) {
      if (array) array = owned.keep(*array);
    });
  }
  KeptCall(const KeptCall&) = delete;
  KeptCall& operator=(const KeptCall&) = delete;

  Module<Op> module;
  typename Op::Inputs inputs;
  typename Op::Options options;
  CallOptions<typename Op::Config> call_options;
  OwnedArrays owned;
  OpCall<Op> call;
};

}  // namespace maskctl::attention
