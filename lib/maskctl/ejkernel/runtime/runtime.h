// What the function form of all operations shares: settings, caches, and one executor for each.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "maskctl/attention/by_name.h"
#include "maskctl/ejkernel/runtime/executor.h"

namespace maskctl::attention {

/// What ejkernel reads from the environment, and more; the command passes it.
struct RuntimeOptions {
  CacheMiss cache_miss = CacheMiss::kAutotune;
  /// ejkernel's 5 and 100, within a second for each new call.
  TunerOptions tuner = {.warmup = 5, .iters = 100, .budget_seconds = 1};
  /// Folder of the files of caches, FOLDER/<cache name>.txt for each class of configs; none:
  /// configs last as long as the process.
  std::optional<std::string> cache_folder = {};
  OnEvent on_event = {};  // called for all operations, and with notes of caches
  ExecutorOptions executor = {};
};

/// Safe for several threads. Executors are made when first used and live as long as this.
class Runtime : public CallRunner {
 public:
  explicit Runtime(RuntimeOptions options = {});
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// The executor of an operation: its own chain and cache.
  const Executor& executor(const Operation& operation);
  /// Runs the operation as its executor does; an operation without a config is called directly.
  AnyValue run_forward(const Operation& operation, const void* call) override;
  AnyValue run_backward(const Operation& operation, const void* call, const void* output,
                        const Cotangents& d) override;
  /// The recorded calls of all operations, in the order of their names.
  std::vector<RecordedCall> recorded() const;
  /// Tunes all recorded calls: autotune_recorded() of each executor.
  AutotuningResult autotune_recorded() const;

  /// The function form: `runtime.call<FlashAttentionOp>(inputs, options, how)` tunes on the first
  /// call with new shapes, remembers, and takes `platform`, `cfg`, `mesh`, `in_specs` and
  /// `out_specs` in `how`; the functions of the operations themselves run at once with what their
  /// options say.
  template <class Op>
  typename Op::Output call(const typename Op::Inputs& inputs,
                           const typename Op::Options& options = {}, const CallOptions& how = {}) {
    return executor(kOperation<Op>)(Module<Op>(), inputs, options, how);
  }
  template <class Op>
  typename Op::Gradients call_backward(const typename Op::Inputs& inputs,
                                       const typename Op::Output& forward, const Cotangents& d,
                                       const typename Op::Options& options = {},
                                       const CallOptions& how = {}) {
    return executor(kOperation<Op>).backward(Module<Op>(), inputs, forward, d, options, how);
  }

 private:
  Executor make_executor(const Operation& operation) const;

  RuntimeOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string_view, Executor> executors_;  // by cache name
};

/// The runtime of the function form; made when first used.
Runtime& default_runtime();
/// Its settings; to be set before its first use. Throws Error(kInvalidArgument) afterwards.
void set_default_runtime_options(const RuntimeOptions& options);

}  // namespace maskctl::attention
