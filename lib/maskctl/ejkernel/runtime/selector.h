// Chooses the config of a call: an override, a remembered config, tuning, or a heuristic.
#pragma once

#include <memory>

#include "maskctl/ejkernel/runtime/autotuner.h"
#include "maskctl/ejkernel/runtime/config_cache.h"

namespace maskctl::attention {

using Tuner = Autotuner<AnyConfig>;
using Measurement = Measured<AnyConfig>;

/// What to do for a call without a known config.
enum class CacheMiss : std::uint8_t { kAutotune, kHeuristics };

struct AutotunePolicy {
  bool allow_autotune = true;
  bool allow_heuristics = true;
  CacheMiss cache_miss_fallback = CacheMiss::kAutotune;
  bool validate_backward = false;  // measure forward and backward together
};

/// The key under which ConfigSelectorChain looks up the config of a call, and a config that
/// overrides the result.
struct Invocation {
  ConfigKey key;
  std::optional<AnyConfig> override_cfg = {};
};

/// What ConfigSelectorChain needs to know about a call to choose a config for it.
class TunableCall {
 public:
  virtual ~TunableCall() = default;
  /// False: the call is never tuned; without a known config it gets the heuristic one.
  virtual bool tunes() const { return true; }
  virtual std::optional<AnyConfig> heuristic_cfg() const = 0;
  virtual std::vector<AnyConfig> candidate_cfgs() const = 0;
  /// Runs the call once; with `backward`, also its gradients if the operation has them.
  virtual void run(const AnyConfig& config, bool backward) const = 0;
};

/// Something that happened while a config was chosen. `name` is one of "override", "overlay_hit",
/// "cache_hit" (with the level "memory" or "persistent"), "autotune_start", "autotune_finish",
/// "heuristics", "error" and "note".
struct SelectionEvent {
  std::string_view name, level = {};
  const ConfigKey* key = nullptr;               // null for notes of the cache
  const AnyConfig* config = nullptr;            // the chosen config, if there is one yet
  std::span<const Measurement> measurements{};  // for autotune_finish
  std::string_view message = {};                // for "error" and "note"
};
using OnEvent = std::function<void(const SelectionEvent&)>;

/// "autotune_finish flash_attention@v0 query=...: FlashAttentionConfig ...", then one line for each
/// candidate.
std::string to_text(const SelectionEvent& event);

/// The configs that were tuned on a device; as_overlay() makes them usable in an OverlayCache.
struct AutotuningResult {
  struct Entry {
    ConfigKey key;
    AnyConfig config;
    std::vector<Measurement> measurements;
  };
  std::string device;
  std::vector<Entry> entries;

  ConfigMap as_overlay() const;
};

/// Chooses configs. Thread-safe: a call waits while another one tunes, and then finds its result.
class ConfigSelectorChain {
 public:
  struct Options {
    std::shared_ptr<ConfigCache> cache = {};  // null: a new cache without a file
    AutotunePolicy policy = {};
    Tuner tuner = Tuner();
    bool persist_autotune = true;
    /// Whether it is an error to tune a key again, after its entry was dropped from the cache.
    bool forbid_reautotune = true;
    OnEvent on_event = {};
  };
  ConfigSelectorChain() : ConfigSelectorChain(Options()) {}
  explicit ConfigSelectorChain(Options options);

  /// Returns the first that exists of: the override (never written to the cache file), the result
  /// of ConfigCache::find(), the result of tuning if the policy allows it, the heuristic config
  /// if the policy allows it. Remembers the config. Throws Error(kUnsupported) if there is no
  /// config, if every candidate fails, or if a key would be tuned again; Error(kInvalidArgument) if
  /// check_config() rejects the override.
  AnyConfig choose(const Invocation& invocation, const TunableCall& call);

  /// Tunes a call even if a config is remembered or tuning it again is forbidden, and remembers the
  /// result like choose(). An operation that does not tune gets its heuristic config. Throws
  /// Error(kUnsupported) if every candidate fails.
  AutotuningResult::Entry tune(const ConfigKey& key, const TunableCall& call);

  AutotunePolicy policy() const;
  void set_policy(const AutotunePolicy& policy);
  ConfigCache& cache() { return *options_.cache; }
  /// Returns the configs of all calls that this chain has tuned, in order.
  AutotuningResult tuned() const;

 private:
  std::optional<AnyConfig> known(const ConfigKey& key);
  /// Throws Error(kUnsupported) if the key was tuned before and may not be tuned again.
  void check_not_tuned(const ConfigKey& key);
  AutotuningResult::Entry autotune(const ConfigKey& key, const TunableCall& call, bool backward);
  AnyConfig heuristics(const ConfigKey& key, const TunableCall& call);
  [[noreturn]] void fail(const ConfigKey& key, const std::string& message);
  void notify(const SelectionEvent& event);

  Options options_;
  mutable std::mutex state_mutex_;  // guards the policy and tuned_
  std::mutex tuning_mutex_;
  AutotuningResult tuned_;
};

/// Sets another policy of a chain while the object exists.
class PolicyOverride {
 public:
  PolicyOverride(ConfigSelectorChain& chain, const AutotunePolicy& policy)
      : chain_(chain), before_(chain.policy()) {
    chain_.set_policy(policy);
  }
  ~PolicyOverride() { chain_.set_policy(before_); }
  PolicyOverride(const PolicyOverride&) = delete;
  PolicyOverride& operator=(const PolicyOverride&) = delete;

 private:
  ConfigSelectorChain& chain_;
  AutotunePolicy before_;
};

}  // namespace maskctl::attention
