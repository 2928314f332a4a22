#include "maskctl/ejkernel/runtime/config_cache.h"

#include <fmt/format.h>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/base/threads.h"

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

std::string device_fingerprint() { return fmt::format("cpu|{}|{}", cpu_target(), threads()); }

std::string short_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

}  // namespace maskctl::attention
