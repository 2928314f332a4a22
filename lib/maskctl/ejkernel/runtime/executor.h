// Runs modules: chooses the config of a call, then runs the call on one device or on the shards of
// a mesh.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "maskctl/ejkernel/runtime/module.h"

namespace maskctl::attention {

/// The form of the labels that calls get for profilers.
enum class Stamp : std::uint8_t { kNone, kHash, kJson };

struct ExecutorOptions {
  /// Whether to record calls: the first call of each key is kept, with copies of its arrays and
  /// masks. Functions in its options (mask_builder) are not copied; what they refer to must live as
  /// long as the record.
  bool record = false;
  Stamp stamp = Stamp::kNone;
  std::string stamp_prefix = "ejkernel_ops#";
  /// Called before a call runs, with its label: "ejkernel_ops#flash_attention@v0:0123456789abcdef"
  /// for kHash, or one JSON object for kJson.
  std::function<void(const std::string& label)> on_stamp = {};
};

struct RecordedCall {
  ConfigKey key;
  AnyConfig config;
  Index calls = 0;
  /// A copy of the first call with this key, including its arrays, so that it can be tuned later.
  std::shared_ptr<const TunableCall> call = {};
};

/// Runs calls with the configs that a ConfigSelectorChain chooses. Thread-safe; executors may share
/// a chain.
class Executor {
 public:
  explicit Executor(std::shared_ptr<ConfigSelectorChain> chain, ExecutorOptions options = {});
  Executor() : Executor(std::make_shared<ConfigSelectorChain>()) {}

  /// Return the output of a call, and its gradients. They throw what the chain, find_backend and
  /// the operation throw.
  AnyValue run(const Operation& operation, const void* call, const CallOptions& how = {}) const;
  AnyValue run_backward(const Operation& operation, const void* call, const void* output,
                        const Cotangents& d, const CallOptions& how = {}) const;
  /// The config that a call would get; does not run the call.
  AnyConfig config_of(const Operation& operation, const void* call,
                      const CallOptions& how = {}) const;

  // The same functions for an operation that is known at compile time, with its own types for
  // inputs and results.
  template <class Op>
  typename Op::Output operator()(const Module<Op>&, const typename Op::Inputs& inputs,
                                 const typename Op::Options& options = {},
                                 const CallOptions& how = {}) const {
    const typename Op::Call call{inputs, options};
    return taken<typename Op::Output>(run(kOperation<Op>, &call, how));
  }
  template <class Op>
  typename Op::Gradients backward(const Module<Op>&, const typename Op::Inputs& inputs,
                                  const typename Op::Output& forward, const Cotangents& d,
                                  const typename Op::Options& options = {},
                                  const CallOptions& how = {}) const {
    const typename Op::Call call{inputs, options};
    return taken<typename Op::Gradients>(run_backward(kOperation<Op>, &call, &forward, d, how));
  }
  template <class Op>
  typename Module<Op>::Config choose_config(const Module<Op>&, const typename Op::Inputs& inputs,
                                            const typename Op::Options& options = {},
                                            const CallOptions& how = {}) const {
    const typename Op::Call call{inputs, options};
    return std::get<typename Module<Op>::Config>(config_of(kOperation<Op>, &call, how));
  }

  /// Chooses a config for an example call. Returns a function that runs similar calls with that
  /// config.
  template <class Op>
  auto compile(const Module<Op>& module, const typename Op::Inputs& inputs,
               const typename Op::Options& options = {}, const CallOptions& how = {}) const {
    return [how, config = AnyConfig(choose_config(module, inputs, options, how))](
               const typename Op::Inputs& in, const typename Op::Options& o) {
      const typename Op::Call call{in, o};
      return taken<typename Op::Output>(ConfiguredCall{kOperation<Op>, config, how}.forward(&call));
    };
  }

  ConfigSelectorChain& chain() const { return *chain_; }
  std::vector<RecordedCall> recorded() const;

 private:
  ConfigKey key_of(const Operation& operation, const void* call, const CallOptions& how) const;
  /// Records and labels a call. `keep` returns a copy of the call; it is used if its key is new.
  void observe(const ConfigKey& key, const AnyConfig& config,
               const std::function<std::shared_ptr<const TunableCall>()>& keep) const;

  struct Record;
  std::shared_ptr<ConfigSelectorChain> chain_;
  ExecutorOptions options_;
  std::shared_ptr<Record> record_;
};

/// ejkernel's autotune_recorded: tunes every call that the executor has recorded, even if a config
/// is known for it. Results are remembered and returned. Throws what ConfigSelectorChain::tune
/// throws.
AutotuningResult autotune_recorded(const Executor& executor);

}  // namespace maskctl::attention
