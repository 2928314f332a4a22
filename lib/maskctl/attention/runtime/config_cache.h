// Configs remembered by one process.
#pragma once

#include <mutex>
#include <optional>

#include "maskctl/attention/runtime/config_key.h"

namespace maskctl::attention {

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
