// Runs modules: chooses the config of a call, then runs it, on one device or on the shards of a
// mesh.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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

/// Labels of calls for profilers.
enum class Stamp : std::uint8_t { kNone, kHash, kJson };

struct ExecutorOptions {
  bool record = false;  // keep the calls that were made
  Stamp stamp = Stamp::kNone;
  std::string stamp_prefix = "ejkernel_ops#";
  /// Gets "ejkernel_ops#flash_attention@v0:0123456789abcdef" (kHash) or one JSON object (kJson)
  /// before a call runs.
  std::function<void(const std::string& label)> on_stamp = {};
};

struct RecordedCall {
  ConfigKey key;
  AnyConfig config;
  Index calls = 0;
};

/// Safe for several threads; the chain may be shared.
class Executor {
 public:
  explicit Executor(std::shared_ptr<ConfigSelectorChain> chain, ExecutorOptions options = {},
                    const KernelRegistry& kernels = builtin_kernels());
  Executor() : Executor(std::make_shared<ConfigSelectorChain>()) {}

  /// The module's result. Throws what the chain, the registry and the operation throw.
  template <class Op>
  auto operator()(const Module<Op>& module, const typename Op::Inputs& inputs,
                  const typename Op::Options& options = {},
                  const CallOptions<typename Op::Config>& call = {}) const -> typename Op::Output {
    return forward(module, inputs, options, choose_config(module, inputs, options, call), call);
  }

  /// The gradients of the same call. `forward` is what it gave.
  template <class Op>
  auto backward(const Module<Op>& module, const typename Op::Inputs& inputs,
                const typename Op::Output& forward, const Cotangents& cotangents,
                const typename Op::Options& options = {},
                const CallOptions<typename Op::Config>& call = {}) const -> typename Op::Gradients {
    return backward(module, inputs, forward, cotangents, options,
                    choose_config(module, inputs, options, call), call);
  }

  /// Only the config that a call would get.
  template <class Op>
  auto choose_config(const Module<Op>& module, const typename Op::Inputs& inputs,
                     const typename Op::Options& options = {},
                     const CallOptions<typename Op::Config>& call = {}) const ->
      typename Op::Config {
    const Call<Op> tunable(*this, module, inputs, options, call);
    Invocation invocation{key_of(module, inputs, options, call), {}};
    if (call.cfg) invocation.override_cfg = *call.cfg;
    const AnyConfig config = chain_->choose(invocation, tunable);
    observe(invocation.key, config);
    return of_type<typename Op::Config>(invocation.key, config);
  }

  /// Chooses once; the function then runs calls like the example with that config.
  template <class Op>
  auto compile(const Module<Op>& module, const typename Op::Inputs& inputs,
               const typename Op::Options& options = {},
               const CallOptions<typename Op::Config>& call = {}) const {
    return [executor = *this, module, call, config = choose_config(module, inputs, options, call)](
               const typename Op::Inputs& in, const typename Op::Options& o) {
      return executor.forward(module, in, o, config, call);
    };
  }

  ConfigSelectorChain& chain() const { return *chain_; }
  const KernelRegistry& kernels() const { return *kernels_; }
  std::vector<RecordedCall> recorded() const;

 private:
  template <class Op>
  class Call;

  template <class Op>
  typename Op::Output forward(const Module<Op>& module, const typename Op::Inputs& inputs,
                              const typename Op::Options& options,
                              const typename Op::Config& config,
                              const CallOptions<typename Op::Config>& call) const {
    const auto run = [&](const typename Op::Inputs& in, const typename Op::Options& o) {
      return module.run(in, o, config, *kernels_, call.platform);
    };
    const std::optional<Sharding> sharding = call.sharding();
    return sharding ? ShardMap<Op>(inputs, options, *sharding).forward(run) : run(inputs, options);
  }

  template <class Op>
  typename Op::Gradients backward(const Module<Op>& module, const typename Op::Inputs& inputs,
                                  const typename Op::Output& forward, const Cotangents& cotangents,
                                  const typename Op::Options& options,
                                  const typename Op::Config& config,
                                  const CallOptions<typename Op::Config>& call) const {
    const auto run = [&](const typename Op::Inputs& in, const typename Op::Output& out,
                         const Cotangents& d, const typename Op::Options& o) {
      return module.run_backward(in, out, d, o, config, *kernels_, call.platform);
    };
    const std::optional<Sharding> sharding = call.sharding();
    if (!sharding) return run(inputs, forward, cotangents, options);
    return ShardMap<Op>(inputs, options, *sharding).backward(forward, cotangents, run);
  }

  template <class Op>
  ConfigKey key_of(const Module<Op>& module, const typename Op::Inputs& inputs,
                   const typename Op::Options& options,
                   const CallOptions<typename Op::Config>& call) const {
    std::string text = module.call_text(inputs, options);
    if (call.platform) text.append(" platform=").append(name(*call.platform));
    if (const auto sharding = call.sharding()) text += sharding_text(*sharding);
    return {device_fingerprint(), operation_name(Op::kInfo), std::move(text)};
  }

  template <class Config>
  static Config of_type(const ConfigKey& key, const AnyConfig& config) {
    if (const auto* own = std::get_if<Config>(&config)) return *own;
    throw_wrong_config(key, config);
  }

  static std::string operation_name(const OpInfo& info);
  static std::string sharding_text(const Sharding& sharding);
  [[noreturn]] static void throw_wrong_config(const ConfigKey& key, const AnyConfig& config);
  /// Recording and stamping.
  void observe(const ConfigKey& key, const AnyConfig& config) const;

  struct Record;
  std::shared_ptr<ConfigSelectorChain> chain_;
  ExecutorOptions options_;
  const KernelRegistry* kernels_;
  std::shared_ptr<Record> record_;
};

/// One call as the chain tunes it.
template <class Op>
class Executor::Call : public TunableCall {
 public:
  Call(const Executor& executor, const Module<Op>& module, const typename Op::Inputs& inputs,
       const typename Op::Options& options, const CallOptions<typename Op::Config>& call)
      : executor_(executor), module_(module), inputs_(inputs), options_(options), call_(call) {}

  bool tunes() const override { return Op::kInfo.tunes; }
  std::optional<AnyConfig> heuristic_cfg() const override { return module_.heuristic_cfg(); }

  std::vector<AnyConfig> candidate_cfgs() const override {
    const auto own = module_.candidate_cfgs(inputs_, options_);
    return {own.begin(), own.end()};
  }

  void run(const AnyConfig& any, bool with_backward) const override {
    const auto& config = std::get<typename Op::Config>(any);
    typename Op::Output out = executor_.forward(module_, inputs_, options_, config, call_);
    if constexpr (Module<Op>::kHasBackward) {
      if (!with_backward || !Op::kInfo.tune_backward) return;
      const Tensor ones = like_out(out);
      executor_.backward(module_, inputs_, out, {.out = &ones}, options_, config, call_);
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

  const Executor& executor_;
  const Module<Op>& module_;
  const typename Op::Inputs& inputs_;
  const typename Op::Options& options_;
  const CallOptions<typename Op::Config>& call_;
};

}  // namespace maskctl::attention
