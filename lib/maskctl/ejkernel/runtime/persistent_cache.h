// Configs remembered in a file, between processes.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "maskctl/ejkernel/runtime/config_cache.h"

namespace maskctl::attention {

/// A text file: the line "maskctl configs 1", then one line an entry, sorted: device, operation,
/// call and config (config_text.h), separated by tabs. Safe for several threads and processes: an
/// addition locks PATH.lock, reads the file again and replaces it at once.
class PersistentCache {
 public:
  /// One line about a fault that was survived.
  using Note = std::function<void(const std::string& note)>;

  /// Reads the file once. What cannot be read is reported to `note` and ignored: a missing file is
  /// an empty cache without a note, a file of another kind is moved to PATH.bad by the next put(),
  /// damaged lines are dropped by it.
  explicit PersistentCache(std::string path, Note note = {});

  std::optional<AnyConfig> get(const ConfigKey& key) const { return entries_.get(key); }
  /// Remembers and writes; folders are created. A file that cannot be written is reported to
  /// `note`, and the entry lasts as long as this object. Parts of a key may not hold tabs or line
  /// feeds: such an entry is not written, with a note.
  void put(const ConfigKey& key, const AnyConfig& config);

  const std::string& path() const { return path_; }
  ConfigMap entries() const { return entries_.entries(); }

 private:
  void read();  // merges what the file holds into entries_
  void write();

  std::string path_;
  Note note_;
  std::mutex mutex_;  // held by additions
  ConfigCache entries_;
  bool foreign_ = false;  // the file is not a cache
};

}  // namespace maskctl::attention
