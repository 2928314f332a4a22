#include "maskctl/attention/runtime/config_cache.h"

namespace maskctl::attention {

std::optional<AnyConfig> ConfigCache::get(const ConfigKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

void ConfigCache::put(const ConfigKey& key, const AnyConfig& config) {
  const std::lock_guard lock(mutex_);
  entries_.insert_or_assign(key, config);
}

void ConfigCache::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

std::size_t ConfigCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

ConfigMap ConfigCache::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

}  // namespace maskctl::attention
