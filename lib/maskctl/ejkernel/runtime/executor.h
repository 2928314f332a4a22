// Runs modules: chooses the config of a call, then runs it, on one device or on the shards of a
// mesh.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "maskctl/ejkernel/runtime/module.h"

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
  explicit Executor(std::shared_ptr<ConfigSelectorChain> chain, ExecutorOptions options = {});
  Executor() : Executor(std::make_shared<ConfigSelectorChain>()) {}

  /// The output, and the gradients of the same call. Throw what the chain, find_backend and the
  /// operation throw.
  AnyValue run(const Operation& operation, const void* call, const CallOptions& how = {}) const;
  AnyValue run_backward(const Operation& operation, const void* call, const void* output,
                        const Cotangents& d, const CallOptions& how = {}) const;
  /// Only the config that a call would get.
  AnyConfig config_of(const Operation& operation, const void* call,
                      const CallOptions& how = {}) const;

  // Runs an operation that is known when this is compiled, with its own types.
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

  /// Chooses a config for the example; the function then runs calls like it with that config.
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
  /// Recording and stamping; `keep` gives a copy of a call that was not recorded before.
  void observe(const ConfigKey& key, const AnyConfig& config,
               const std::function<std::shared_ptr<const TunableCall>()>& keep) const;

  struct Record;
  std::shared_ptr<ConfigSelectorChain> chain_;
  ExecutorOptions options_;
  std::shared_ptr<Record> record_;
};

/// ejkernel's autotune_recorded: tunes every call that the executor has recorded, whatever is
/// remembered of it; the results are remembered and returned. Throws what
/// ConfigSelectorChain::tune throws.
AutotuningResult autotune_recorded(const Executor& executor);

}  // namespace maskctl::attention
