#include "maskctl/ejkernel/runtime/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "maskctl/base/error.h"
#include "maskctl/ejkernel/runtime/config_rows.h"

namespace maskctl::attention {
namespace {

/// The default runtime, if it exists, and its settings.
struct DefaultRuntime {
  std::mutex mutex;
  RuntimeOptions options;
  std::unique_ptr<Runtime> runtime;
};

DefaultRuntime& default_state() {
  static DefaultRuntime state;
  return state;
}

std::string_view cache_name(const Operation& operation) {
  return module_of(operation).config_row().cache_name;
}

}  // namespace

Runtime::Runtime(RuntimeOptions options) : options_(std::move(options)) {}

Executor Runtime::make_executor(const Operation& operation) const {
  ConfigSelectorChain::Options chain;
  chain.policy.cache_miss_fallback = options_.cache_miss;
  chain.policy.validate_backward = true;
  chain.tuner = Tuner(options_.tuner);
  chain.on_event = options_.on_event;
  if (options_.cache_folder) {
    const auto note = [on_event = options_.on_event](const std::string& text) {
      if (on_event) on_event({.name = "note", .message = text});
    };
    chain.cache = std::make_shared<ConfigCache>(
        fmt::format("{}/{}.txt", *options_.cache_folder, cache_name(operation)), note);
  }
  return Executor(std::make_shared<ConfigSelectorChain>(std::move(chain)), options_.executor);
}

const Executor& Runtime::executor(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  const std::string_view name = cache_name(operation);
  const auto found = executors_.find(name);
  if (found != executors_.end()) return found->second;
  return executors_.emplace(name, make_executor(operation)).first->second;
}

AnyValue Runtime::run_forward(const Operation& operation, const void* call) {
  return find_module(operation) ? executor(operation).run(operation, call)
                                : operation.forward(call);
}

AnyValue Runtime::run_backward(const Operation& operation, const void* call, const void* output,
                               const Cotangents& d) {
  return find_module(operation) ? executor(operation).run_backward(operation, call, output, d)
                                : operation.backward(call, output, d);
}

std::vector<RecordedCall> Runtime::recorded() const {
  const std::lock_guard lock(mutex_);
  std::vector<RecordedCall> all;
  for (const auto& [name, executor] : executors_) {
    for (RecordedCall& call : executor.recorded()) all.push_back(std::move(call));
  }
  return all;
}

AutotuningResult Runtime::autotune_recorded() const {
  // Tuning takes seconds and calls on_event, so it runs without the lock. Executors are never
  // removed.
  std::vector<const Executor*> executors;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, executor] : executors_) executors.push_back(&executor);
  }
  AutotuningResult all{device_fingerprint(), {}};
  for (const Executor* executor : executors) {
    AutotuningResult part = attention::autotune_recorded(*executor);
    std::ranges::move(part.entries, std::back_inserter(all.entries));
  }
  return all;
}

Runtime& default_runtime() {
  DefaultRuntime& state = default_state();
  const std::lock_guard lock(state.mutex);
  if (!state.runtime) state.runtime = std::make_unique<Runtime>(state.options);
  return *state.runtime;
}

void set_default_runtime_options(const RuntimeOptions& options) {
  DefaultRuntime& state = default_state();
  const std::lock_guard lock(state.mutex);
  if (state.runtime) {
    throw Error(Errc::kInvalidArgument,
                "the default runtime is in use; set its options before the first call");
  }
  state.options = options;
}

}  // namespace maskctl::attention
