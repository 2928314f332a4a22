// Runs modules: chooses the config of a call, then runs it, on one device or on the shards of a
// mesh.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/attention/runtime/op_call.h"

namespace maskctl::attention {

/// Labels of calls for profilers.
enum class Stamp : std::uint8_t { kNone, kHash, kJson };

struct ExecutorOptions {
  /// Keep the calls that were made: of each key the first, with copies of its arrays and masks.
  /// Functions among its options (mask_builder) are kept as they are; what they refer to must live
  /// as long as the record.
  bool record = false;
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
  /// The first of these calls with copies of its arrays, for tuning it later.
  std::shared_ptr<const TunableCall> call = {};
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
    const auto config = choose_config(module, inputs, options, call);
    return run_call(*kernels_, module, inputs, options, config, call);
  }

  /// The gradients of the same call. `forward` is what it gave.
  template <class Op>
  auto backward(const Module<Op>& module, const typename Op::Inputs& inputs,
                const typename Op::Output& forward, const Cotangents& cotangents,
                const typename Op::Options& options = {},
                const CallOptions<typename Op::Config>& call = {}) const -> typename Op::Gradients {
    const auto config = choose_config(module, inputs, options, call);
    return run_call_backward(*kernels_, module, inputs, forward, cotangents, options, config, call);
  }

  /// Only the config that a call would get.
  template <class Op>
  auto choose_config(const Module<Op>& module, const typename Op::Inputs& inputs,
                     const typename Op::Options& options = {},
                     const CallOptions<typename Op::Config>& call = {}) const ->
      typename Op::Config {
    const OpCall<Op> tunable(*kernels_, module, inputs, options, call);
    Invocation invocation{key_of(module, inputs, options, call), {}};
    if (call.cfg) invocation.override_cfg = *call.cfg;
    const AnyConfig config = chain_->choose(invocation, tunable);
    observe(invocation.key, config, [&]() -> std::shared_ptr<const TunableCall> {
      const auto kept = std::make_shared<KeptCall<Op>>(*kernels_, module, inputs, options, call);
      return {kept, &kept->call};
    });
    return of_type<typename Op::Config>(invocation.key, config);
  }

  /// Chooses once; the function then runs calls like the example with that config.
  template <class Op>
  auto compile(const Module<Op>& module, const typename Op::Inputs& inputs,
               const typename Op::Options& options = {},
               const CallOptions<typename Op::Config>& call = {}) const {
    return
        [kernels = kernels_, module, call, config = choose_config(module, inputs, options, call)](
            const typename Op::Inputs& in, const typename Op::Options& o) {
          return run_call(*kernels, module, in, o, config, call);
        };
  }

  ConfigSelectorChain& chain() const { return *chain_; }
  const KernelRegistry& kernels() const { return *kernels_; }
  std::vector<RecordedCall> recorded() const;

 private:
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
  /// Recording and stamping; `keep` gives a copy of a call that was not recorded before.
  void observe(const ConfigKey& key, const AnyConfig& config,
               const std::function<std::shared_ptr<const TunableCall>()>& keep) const;

  struct Record;
  std::shared_ptr<ConfigSelectorChain> chain_;
  ExecutorOptions options_;
  const KernelRegistry* kernels_;
  std::shared_ptr<Record> record_;
};

/// ejkernel's autotune_recorded: tunes every call that the executor has recorded, whatever is
/// remembered of it; the results are remembered and returned. Throws what
/// ConfigSelectorChain::tune throws.
AutotuningResult autotune_recorded(const Executor& executor);

}  // namespace maskctl::attention
