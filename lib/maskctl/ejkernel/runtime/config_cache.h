// The cache of configs, by device, version of the operation, and call. It lasts as long as the
// process or, with a file, between processes.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "maskctl/ejkernel/runtime/configs.h"

namespace maskctl::attention {

/// The key of a cached config: the triple that ejkernel uses, but with whole texts instead of
/// hashes, so that different calls never share a key.
struct ConfigKey {
  std::string device;     // from device_fingerprint()
  std::string operation;  // "flash_attention@v0"
  std::string call;       // call_key() of fields.h
  friend bool operator==(const ConfigKey&, const ConfigKey&) = default;
};

struct ConfigKeyHash {
  std::size_t operator()(const ConfigKey& key) const {
    const std::hash<std::string> hash;
    return (hash(key.device) * 31 + hash(key.operation)) * 31 + hash(key.call);
  }
};

using ConfigMap = std::unordered_map<ConfigKey, AnyConfig, ConfigKeyHash>;

/// "cpu|AVX2|2": kind of device, instruction set in use, number of threads. A config is used only
/// under the fingerprint under which it was tuned.
std::string device_fingerprint();

/// A hash of a call's text for labels: 16 hex digits (64-bit FNV-1a).
std::string short_hash(std::string_view text);

/// Where a config was found.
enum class ConfigSource : std::uint8_t { kOverlay, kMemory, kFile };

struct KnownConfig {
  AnyConfig config;
  ConfigSource source;
};

/// The configs of one process and, if there is a path, of a text file. The first line of the file
/// is "maskctl configs 1"; then come the entries, one per line, sorted: device, operation, call and
/// config (see config_text.h), separated by tabs. Safe for several threads and processes: to add an
/// entry, it locks PATH.lock, reads the file again and replaces it atomically.
class ConfigCache {
 public:
  /// Receives a message about a problem with the file that does not stop the process.
  using Note = std::function<void(const std::string& note)>;

  ConfigCache() = default;
  /// Reads the file. Problems are reported to `note` and otherwise ignored: a file that is too
  /// large or of another format is moved to PATH.bad by the next put(), which also drops damaged
  /// lines. A missing file is an empty cache, without a note.
  explicit ConfigCache(std::string path, Note note = {});

  /// Searches the overlays, the innermost first; then the configs that this process has put or
  /// found before; then the file.
  std::optional<KnownConfig> find(const ConfigKey& key);
  /// Like find(), but without the overlays.
  std::optional<AnyConfig> get(const ConfigKey& key) const;

  /// Remembers a config and writes it to the file; creates missing folders. If the file cannot be
  /// written, or if the key contains a tab or line feed, `note` is called and nothing is written.
  void put(const ConfigKey& key, const AnyConfig& config);
  /// Remembers a config in this process only.
  void put_unsaved(const ConfigKey& key, const AnyConfig& config);
  /// Forgets everything except what is in the file.
  void clear();

  std::size_t size() const;
  ConfigMap entries() const;

 private:
  /// What is known under one key; at least one of the two is set.
  struct Entry {
    std::optional<AnyConfig> own;    // put or found by this process
    std::optional<AnyConfig> saved;  // in the file, or to be written to it

    const AnyConfig& config() const { return own ? *own : *saved; }
  };

  void save(const ConfigKey& key, const AnyConfig& config);
  void keep_saved(const ConfigKey& key, const AnyConfig& config);
  void read_file();
  void write_file();
  std::string file_text() const;

  std::string path_;  // empty: no file
  Note note_;
  std::mutex file_mutex_;  // held while an entry is added to the file
  bool foreign_ = false;   // the file is too large or of another format; a put() replaces it
  mutable std::mutex mutex_;
  std::unordered_map<ConfigKey, Entry, ConfigKeyHash> entries_;
};

/// While an object of this class exists, its configs take precedence over every cache, for calls of
/// this thread. If several have the key, the innermost one is used. They must be destroyed in
/// reverse order, on the same thread.
class OverlayCache {
 public:
  explicit OverlayCache(ConfigMap configs);
  ~OverlayCache();
  OverlayCache(const OverlayCache&) = delete;
  OverlayCache& operator=(const OverlayCache&) = delete;
  static const AnyConfig* find(const ConfigKey& key);

 private:
  ConfigMap configs_;
  const OverlayCache* outer_;
};

}  // namespace maskctl::attention
