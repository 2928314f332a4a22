#include "maskctl/ejkernel/runtime/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "maskctl/base/error.h"
#include "maskctl/ejkernel/runtime/config_text.h"

namespace maskctl::attention {
namespace {

std::string label_of(const ExecutorOptions& options, const ConfigKey& key) {
  const std::string hash = short_hash(key.call);
  if (options.stamp == Stamp::kJson) {
    return fmt::format(R"({{"op":"{}","device":"{}","key":"{}"}})", key.operation, key.device,
                       hash);
  }
  return fmt::format("{}{}:{}", options.stamp_prefix, key.operation, hash);
}

std::string sharding_text(const Sharding& sharding) {
  std::string text = " mesh=";
  for (std::size_t i = 0; i < sharding.mesh.axis_names.size(); ++i) {
    text += fmt::format("{}{}={}", i > 0 ? "+" : "", sharding.mesh.axis_names[i],
                        sharding.mesh.axis_sizes[i]);
  }
  for (const auto& spec : sharding.in_specs) text += " " + (spec ? to_text(*spec) : "None");
  for (const PartitionSpec& spec : sharding.out_specs) text += " -> " + to_text(spec);
  return text;
}

std::string versioned(const Operation& operation) {
  return fmt::format("{}@v{}", operation.alias, module_of(operation).version);
}

void check_class(const Operation& operation, const AnyConfig& config) {
  if (config.index() == module_of(operation).config_class) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} was given the config of another operation: {}", versioned(operation),
                          to_text(config)));
}

}  // namespace

struct Executor::Record {
  std::mutex mutex;
  std::vector<RecordedCall> calls;
  std::unordered_map<ConfigKey, std::size_t, ConfigKeyHash> indices;
};

Executor::Executor(std::shared_ptr<ConfigSelectorChain> chain, ExecutorOptions options)
    : chain_(std::move(chain)), options_(std::move(options)), record_(std::make_shared<Record>()) {}

ConfigKey Executor::key_of(const Operation& operation, const void* call,
                           const CallOptions& how) const {
  std::string key = call_key(operation, call);
  if (how.platform) key.append(" platform=").append(name(*how.platform));
  if (const auto sharding = how.sharding()) key += sharding_text(*sharding);
  return {device_fingerprint(), versioned(operation), std::move(key)};
}

AnyConfig Executor::config_of(const Operation& operation, const void* call,
                              const CallOptions& how) const {
  if (how.cfg) check_class(operation, *how.cfg);
  const OpCall tunable(operation, call, how);
  const Invocation invocation{key_of(operation, call, how), how.cfg};
  AnyConfig config = chain_->choose(invocation, tunable);
  check_class(operation, config);
  observe(invocation.key, config, [&]() -> std::shared_ptr<const TunableCall> {
    const auto kept = std::make_shared<KeptCall>(operation, call, how);
    return {kept, &kept->call};
  });
  return config;
}

AnyValue Executor::run(const Operation& operation, const void* call, const CallOptions& how) const {
  const AnyConfig config = config_of(operation, call, how);
  return ConfiguredCall{operation, config, how}.forward(call);
}

AnyValue Executor::run_backward(const Operation& operation, const void* call, const void* output,
                                const Cotangents& d, const CallOptions& how) const {
  const AnyConfig config = config_of(operation, call, how);
  return ConfiguredCall{operation, config, how}.backward(call, output, d);
}

std::vector<RecordedCall> Executor::recorded() const {
  const std::lock_guard lock(record_->mutex);
  return record_->calls;
}

void Executor::observe(const ConfigKey& key, const AnyConfig& config,
                       const std::function<std::shared_ptr<const TunableCall>()>& keep) const {
  if (options_.stamp != Stamp::kNone && options_.on_stamp) {
    options_.on_stamp(label_of(options_, key));
  }
  if (!options_.record) return;
  const std::lock_guard lock(record_->mutex);
  const auto [index, added] = record_->indices.emplace(key, record_->calls.size());
  if (added) record_->calls.push_back({key, config, 0, keep()});
  record_->calls[index->second].config = config;
  ++record_->calls[index->second].calls;
}

AutotuningResult autotune_recorded(const Executor& executor) {
  AutotuningResult result{device_fingerprint(), {}};
  for (const RecordedCall& recorded : executor.recorded()) {
    result.entries.push_back(executor.chain().tune(recorded.key, *recorded.call));
  }
  return result;
}

}  // namespace maskctl::attention
