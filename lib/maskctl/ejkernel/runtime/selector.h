// Chooses the config of a call: override, what is remembered, tuning, heuristics.
#pragma once

#include <memory>

#include "maskctl/ejkernel/runtime/autotuner.h"
#include "maskctl/ejkernel/runtime/config_cache.h"

namespace maskctl::attention {

using Tuner = Autotuner<AnyConfig>;
using Measurement = Measured<AnyConfig>;

/// What a call without a known config does.
enum class CacheMiss : std::uint8_t { kAutotune, kHeuristics };

struct AutotunePolicy {
  bool allow_autotune = true;
  bool allow_heuristics = true;
  CacheMiss cache_miss_fallback = CacheMiss::kAutotune;
  bool validate_backward = false;  // measure forward and backward together, where there is one
};

/// One call as the chain sees it.
struct Invocation {
  ConfigKey key;
  std::optional<AnyConfig> override_cfg = {};
};

/// What the chain asks of the operation of a call.
class TunableCall {
 public:
  virtual ~TunableCall() = default;
  virtual bool tunes() const { return true; }  // false: heuristics whatever the policy says
  virtual std::optional<AnyConfig> heuristic_cfg() const = 0;
  virtual std::vector<AnyConfig> candidate_cfgs() const = 0;
  /// Runs the call once; with `backward` its gradients too, where the operation has them.
  virtual void run(const AnyConfig& config, bool backward) const = 0;
};

/// What happened while a config was chosen. Names: "override", "overlay_hit", "cache_hit" (level
/// "memory" or "persistent"), "autotune_start", "autotune_finish", "heuristics", "error", "note".
struct SelectionEvent {
  std::string_view name, level = {};
  const ConfigKey* key = nullptr;               // null for notes of the cache
  const AnyConfig* config = nullptr;            // the choice, once there is one
  std::span<const Measurement> measurements{};  // of autotune_finish
  std::string_view message = {};                // of "error" and "note"
};
using OnEvent = std::function<void(const SelectionEvent&)>;

/// "autotune_finish flash_attention@v0 query=...: FlashAttentionConfig ... (1.23 ms)", and one line
/// for each candidate.
std::string to_text(const SelectionEvent& event);

/// What was tuned on a device; usable as an overlay elsewhere.
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

/// Safe for several threads: a call waits while another one tunes, then finds its result.
class ConfigSelectorChain {
 public:
  struct Options {
    std::shared_ptr<ConfigCache> cache = {};  // empty: a new one without a file
    AutotunePolicy policy = {};
    Tuner tuner = Tuner();
    bool persist_autotune = true;
    bool forbid_reautotune = true;  // tuning a key again (its cache entry was dropped) is an error
    OnEvent on_event = {};
  };
  ConfigSelectorChain() : ConfigSelectorChain(Options()) {}
  explicit ConfigSelectorChain(Options options);

  /// The first of: the override (never written to the file of the cache), what ConfigCache::find
  /// finds, tuning when the policy allows it, heuristics; the result is remembered. Throws
  /// Error(kUnsupported) when nothing gives a config, every candidate fails, or a key would be
  /// tuned again; Error(kInvalidArgument) for an override that check_config refuses.
  AnyConfig choose(const Invocation& invocation, const TunableCall& call);

  /// Tunes a call whatever is remembered of it or forbidden, and remembers the result as `choose`
  /// does. Operations that do not tune get their heuristic config. Throws Error(kUnsupported) when
  /// every candidate fails.
  AutotuningResult::Entry tune(const ConfigKey& key, const TunableCall& call);

  AutotunePolicy policy() const;
  void set_policy(const AutotunePolicy& policy);
  ConfigCache& cache() { return *options_.cache; }
  /// Everything that this chain has tuned, in order.
  AutotuningResult tuned() const;

 private:
  std::optional<AnyConfig> known(const ConfigKey& key);
  /// Throws Error(kUnsupported) for a key that may not be tuned again.
  void check_not_tuned(const ConfigKey& key);
  AutotuningResult::Entry autotune(const ConfigKey& key, const TunableCall& call, bool backward);
  AnyConfig heuristics(const ConfigKey& key, const TunableCall& call);
  [[noreturn]] void fail(const ConfigKey& key, const std::string& message);
  void notify(const SelectionEvent& event);

  Options options_;
  mutable std::mutex state_mutex_;  // guards policy and tuned_
  std::mutex tuning_mutex_;
  AutotuningResult tuned_;
};

/// Another policy while it lives.
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
