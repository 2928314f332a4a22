// What the function form of all operations shares: settings, caches, and one executor for each.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "maskctl/attention/runtime/executor.h"

namespace maskctl::attention {

/// What the seed reads from the environment, and more; the command passes it.
struct RuntimeOptions {
  CacheMiss cache_miss = CacheMiss::kAutotune;
  /// The seed's 5 and 100, within a second for each new call.
  TunerOptions tuner = {.warmup = 5, .iters = 100, .budget_seconds = 1};
  /// Folder of persistent caches, one file FOLDER/<cache name>.txt for each operation; none:
  /// configs last as long as the process.
  std::optional<std::string> cache_folder = {};
  OnEvent on_event = {};  // of all operations; notes of persistent caches too
  ExecutorOptions executor = {};
};

/// Safe for several threads. Executors are made when first used and live as long as this.
class Runtime {
 public:
  explicit Runtime(RuntimeOptions options = {});
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// The executor of an operation: its own chain and persistent cache.
  const Executor& executor(const OpInfo& info);
  /// Of all operations, in the order of their names.
  std::vector<RecordedCall> recorded() const;
  /// Tunes all of them: the function of that name for each executor.
  AutotuningResult autotune_recorded() const;

  /// The function form: `runtime.call<FlashAttentionOp>(inputs, options, call)`.
  template <class Op>
  typename Op::Output call(const typename Op::Inputs& inputs, const typename Op::Options& options,
                           const CallOptions<typename Op::Config>& call = {}) {
    return executor(Op::kInfo)(Module<Op>(), inputs, options, call);
  }
  template <class Op>
  typename Op::Gradients call_backward(const typename Op::Inputs& inputs,
                                       const typename Op::Output& forward,
                                       const Cotangents& cotangents,
                                       const typename Op::Options& options,
                                       const CallOptions<typename Op::Config>& call = {}) {
    return executor(Op::kInfo).backward(Module<Op>(), inputs, forward, cotangents, options, call);
  }

 private:
  Executor make_executor(const OpInfo& info) const;

  RuntimeOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string_view, Executor> executors_;  // by cache name
};

/// The runtime of the function form; made when first used.
Runtime& default_runtime();
/// Its settings; call it before anything uses it. Throws Error(kInvalidArgument) afterwards.
void set_default_runtime_options(const RuntimeOptions& options);

}  // namespace maskctl::attention
