#include "maskctl/ejkernel/runtime/selector.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/ejkernel/runtime/config_text.h"

namespace maskctl::attention {
namespace {

std::string measurement_text(const Measurement& one) {
  const std::string outcome = one.runs > 0 ? fmt::format("{:.6f} ms", one.seconds * 1e3)
                                           : fmt::format("failed: {}", one.error);
  return fmt::format("\n  {}: {}", to_text(one.config), outcome);
}

}  // namespace

std::string to_text(const SelectionEvent& event) {
  std::string text(event.name);
  if (!event.level.empty()) text += fmt::format(" level={}", event.level);
  if (event.key) text += fmt::format(" {} {}", event.key->operation, event.key->call);
  if (event.config) text += fmt::format(": {}", to_text(*event.config));
  if (!event.message.empty()) text += fmt::format(": {}", event.message);
  for (const Measurement& one : event.measurements) text += measurement_text(one);
  return text;
}

ConfigMap AutotuningResult::as_overlay() const {
  ConfigMap map;
  for (const Entry& entry : entries) map.insert_or_assign(entry.key, entry.config);
  return map;
}

ConfigSelectorChain::ConfigSelectorChain(Options options) : options_(std::move(options)) {
  if (!options_.cache) options_.cache = std::make_shared<ConfigCache>();
  tuned_.device = device_fingerprint();
}

AnyConfig ConfigSelectorChain::choose(const Invocation& invocation, const TunableCall& call) {
  const ConfigKey& key = invocation.key;
  if (invocation.override_cfg) {
    check_config(*invocation.override_cfg);
    options_.cache->put_unsaved(key, *invocation.override_cfg);
    notify({"override", "", &key, &*invocation.override_cfg});
    return *invocation.override_cfg;
  }
  if (const auto config = known(key)) return *config;
  const AutotunePolicy policy = this->policy();
  if (call.tunes() && policy.allow_autotune && policy.cache_miss_fallback == CacheMiss::kAutotune) {
    const std::lock_guard lock(tuning_mutex_);
    // another thread may have tuned this key meanwhile
    if (const auto config = options_.cache->get(key)) return *config;
    check_not_tuned(key);
    return autotune(key, call, policy.validate_backward).config;
  }
  if (policy.allow_heuristics) return heuristics(key, call);
  fail(key, "no config is known, and the policy allows neither tuning nor heuristics");
}

std::optional<AnyConfig> ConfigSelectorChain::known(const ConfigKey& key) {
  const std::optional<KnownConfig> known = options_.cache->find(key);
  if (!known) return std::nullopt;
  if (known->source == ConfigSource::kOverlay) {
    notify({"overlay_hit", "", &key, &known->config});
  } else {
    const bool in_file = known->source == ConfigSource::kFile;
    notify({"cache_hit", in_file ? "persistent" : "memory", &key, &known->config});
  }
  return known->config;
}

void ConfigSelectorChain::check_not_tuned(const ConfigKey& key) {
  if (!options_.forbid_reautotune) return;
  const std::lock_guard lock(state_mutex_);
  const bool before = std::ranges::any_of(
      tuned_.entries, [&](const AutotuningResult::Entry& entry) { return entry.key == key; });
  if (before) fail(key, "was tuned before and its result was dropped; allow tuning it again");
}

AutotuningResult::Entry ConfigSelectorChain::tune(const ConfigKey& key, const TunableCall& call) {
  if (!call.tunes()) return {key, heuristics(key, call), {}};
  const std::lock_guard lock(tuning_mutex_);
  return autotune(key, call, policy().validate_backward);
}

AutotuningResult::Entry ConfigSelectorChain::autotune(const ConfigKey& key, const TunableCall& call,
                                                      bool backward) {
  notify({"autotune_start", "", &key});
  const std::vector<AnyConfig> candidates = call.candidate_cfgs();
  std::vector<Measurement> measured;
  if (candidates.size() != 1) {  // a single candidate need not be measured
    measured = options_.tuner.measure(candidates,
                                      [&](const AnyConfig& config) { call.run(config, backward); });
  }
  const AnyConfig config = [&] {
    if (candidates.size() == 1) return candidates[0];
    try {
      return best_of(measured).config;
    } catch (const Error& error) {
      if (!candidates.empty()) call.run(candidates[0], false);  // throws if the input is bad
      fail(key, error.what());
    }
  }();
  if (options_.persist_autotune) {
    options_.cache->put(key, config);
  } else {
    options_.cache->put_unsaved(key, config);
  }
  {
    const std::lock_guard lock(state_mutex_);
    tuned_.entries.push_back({key, config, measured});
  }
  notify({"autotune_finish", "", &key, &config, measured});
  return {key, config, std::move(measured)};
}

AnyConfig ConfigSelectorChain::heuristics(const ConfigKey& key, const TunableCall& call) {
  const std::optional<AnyConfig> config = call.heuristic_cfg();
  if (!config) fail(key, "has no heuristic config");
  options_.cache->put(key, *config);
  notify({"heuristics", "", &key, &*config});
  return *config;
}

void ConfigSelectorChain::fail(const ConfigKey& key, const std::string& message) {
  notify({"error", "", &key, nullptr, {}, message});
  throw Error(Errc::kUnsupported, fmt::format("{}: {}", key.operation, message));
}

void ConfigSelectorChain::notify(const SelectionEvent& event) {
  if (options_.on_event) options_.on_event(event);
}

AutotunePolicy ConfigSelectorChain::policy() const {
  const std::lock_guard lock(state_mutex_);
  return options_.policy;
}

void ConfigSelectorChain::set_policy(const AutotunePolicy& policy) {
  const std::lock_guard lock(state_mutex_);
  options_.policy = policy;
}

AutotuningResult ConfigSelectorChain::tuned() const {
  const std::lock_guard lock(state_mutex_);
  return tuned_;
}

}  // namespace maskctl::attention
