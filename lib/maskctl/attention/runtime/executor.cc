#include "maskctl/attention/runtime/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "maskctl/attention/runtime/config_text.h"
#include "maskctl/base/error.h"

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

}  // namespace

struct Executor::Record {
  std::mutex mutex;
  std::vector<RecordedCall> calls;
  std::unordered_map<ConfigKey, std::size_t, ConfigKeyHash> places;
};

Executor::Executor(std::shared_ptr<ConfigSelectorChain> chain, ExecutorOptions options,
                   const KernelRegistry& kernels)
    : chain_(std::move(chain)),
      options_(std::move(options)),
      kernels_(&kernels),
      record_(std::make_shared<Record>()) {}

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
  const auto [place, added] = record_->places.emplace(key, record_->calls.size());
  if (added) record_->calls.push_back({key, config, 0, keep()});
  record_->calls[place->second].config = config;
  ++record_->calls[place->second].calls;
}

AutotuningResult autotune_recorded(const Executor& executor) {
  AutotuningResult result{device_fingerprint(), {}};
  for (const RecordedCall& recorded : executor.recorded()) {
    result.entries.push_back(executor.chain().tune(recorded.key, *recorded.call));
  }
  return result;
}

std::string Executor::operation_name(const OpInfo& info) {
  return fmt::format("{}@v{}", info.id, info.version);
}

std::string Executor::sharding_text(const Sharding& sharding) {
  std::string text = " mesh=";
  for (std::size_t i = 0; i < sharding.mesh.axis_names.size(); ++i) {
    text += fmt::format("{}{}={}", i > 0 ? "+" : "", sharding.mesh.axis_names[i],
                        sharding.mesh.axis_sizes[i]);
  }
  for (const auto& spec : sharding.in_specs) text += " " + (spec ? to_text(*spec) : "None");
  for (const PartitionSpec& spec : sharding.out_specs) text += " -> " + to_text(spec);
  return text;
}

void Executor::throw_wrong_config(const ConfigKey& key, const AnyConfig& config) {
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} was given the config of another operation: {}", key.operation,
                          to_text(config)));
}

}  // namespace maskctl::attention
