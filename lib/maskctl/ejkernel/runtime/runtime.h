// The function form of operations, with shared settings: one executor and cache per config class.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/ejkernel/runtime/executor.h"

namespace maskctl::attention {

/// The settings that ejkernel reads from the environment, and more; the command sets them.
struct RuntimeOptions {
  CacheMiss cache_miss = CacheMiss::kAutotune;
  /// `warmup` and `iters` are those of ejkernel. After a second, no more rounds of runs begin for a
  /// new call.
  TunerOptions tuner = {.warmup = 5, .iters = 100, .budget_seconds = 1};
  /// The folder of the cache files, one FOLDER/<cache name>.txt for each class of configs. nullopt:
  /// configs last only as long as the process.
  std::optional<std::string> cache_folder = {};
  OnEvent on_event = {};  // called for events of all operations, and for notes of caches
  ExecutorOptions executor = {};
};

/// Runs operations through executors, which are made when first used and live as long as the
/// runtime. Thread-safe.
class Runtime : public CallRunner {
 public:
  explicit Runtime(RuntimeOptions options = {});
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// The executor for an operation. Operations with different config classes have different
  /// executors.
  const Executor& executor(const Operation& operation);
  /// Runs the operation through its executor, or directly if it has no config.
  AnyValue run_forward(const Operation& operation, const void* call) override;
  AnyValue run_backward(const Operation& operation, const void* call, const void* output,
                        const Cotangents& d) override;
  /// The recorded calls of all executors, in the order of cache names.
  std::vector<RecordedCall> recorded() const;
  /// Tunes all recorded calls: autotune_recorded() of each executor.
  AutotuningResult autotune_recorded() const;

  /// The function form: `runtime.call<FlashAttentionOp>(inputs, options, how)` tunes on the first
  /// call with new shapes, and remembers the result. `how` takes `platform`, `cfg`, `mesh`,
  /// `in_specs` and `out_specs`. The plain functions of the operations do not tune; they run with
  /// the options as given.
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

/// Returns the runtime that runs operations called as functions. It is made when first used.
Runtime& default_runtime();
/// The settings of the default runtime. Throws Error(kInvalidArgument) if it exists already.
void set_default_runtime_options(const RuntimeOptions& options);

}  // namespace maskctl::attention
