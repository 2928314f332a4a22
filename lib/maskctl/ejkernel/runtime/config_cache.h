// Configs remembered by one process, by what a tuned config belongs to: a device, a version of an
// operation, and a call.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "maskctl/ejkernel/runtime/configs.h"

namespace maskctl::attention {

/// ejkernel's triple; the parts are kept whole, so that no two calls share a key by accident.
struct ConfigKey {
  std::string device;     // device_fingerprint()
  std::string operation;  // "flash_attention@v0"
  std::string call;       // call_key of fields.h
  friend bool operator==(const ConfigKey&, const ConfigKey&) = default;
};

struct ConfigKeyHash {
  std::size_t operator()(const ConfigKey& key) const {
    const std::hash<std::string> hash;
    return (hash(key.device) * 31 + hash(key.operation)) * 31 + hash(key.call);
  }
};

using ConfigMap = std::unordered_map<ConfigKey, AnyConfig, ConfigKeyHash>;

/// "cpu|AVX2|2": kind of device, instruction set in use, threads that may work. Configs tuned under
/// one of these are not used under another.
std::string device_fingerprint();

/// 16 hex digits of a call's text, for labels (FNV-1a of 64 bits).
std::string short_hash(std::string_view text);

/// Safe for several threads.
class ConfigCache {
 public:
  std::optional<AnyConfig> get(const ConfigKey& key) const;
  void put(const ConfigKey& key, const AnyConfig& config);
  void clear();
  std::size_t size() const;
  ConfigMap entries() const;

 private:
  mutable std::mutex mutex_;
  ConfigMap entries_;
};

}  // namespace maskctl::attention
