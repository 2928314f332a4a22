// The one store of remembered configs, by what a tuned config belongs to: a device, a version of an
// operation, and a call. It lasts as long as the process, or as a file between processes.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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

/// Who knew a config.
enum class ConfigSource : std::uint8_t { kOverlay, kMemory, kFile };

struct KnownConfig {
  AnyConfig config;
  ConfigSource source;
};

/// Configs of one process and, where it has a path, of a text file: the line "maskctl configs 1",
/// then one line an entry, sorted: device, operation, call and config (config_text.h), separated by
/// tabs. Safe for several threads and processes: an addition locks PATH.lock, reads the file again
/// and replaces it at once.
class ConfigCache {
 public:
  /// One line about a fault of the file that was survived.
  using Note = std::function<void(const std::string& note)>;

  ConfigCache() = default;
  /// Reads the file once. What cannot be read is reported to `note` and ignored: a missing file is
  /// an empty cache without a note, a file of another kind is moved to PATH.bad by the next put(),
  /// damaged lines are dropped by it.
  explicit ConfigCache(std::string path, Note note = {});

  /// The innermost overlay that has the key, then what this process put or found before, then the
  /// file.
  std::optional<KnownConfig> find(const ConfigKey& key);
  /// find() without the overlays.
  std::optional<AnyConfig> get(const ConfigKey& key) const;

  /// Remembers a config, and writes it to the file; folders are created. A file that cannot be
  /// written is reported to `note`. Parts of a key may not hold tabs or line feeds: such an entry
  /// is not written, with a note.
  void put(const ConfigKey& key, const AnyConfig& config);
  /// Remembers a config in this process alone.
  void put_unsaved(const ConfigKey& key, const AnyConfig& config);
  /// Forgets what the file does not hold.
  void clear();

  std::size_t size() const;
  ConfigMap entries() const;

 private:
  /// What is known under one key; one of the two at least.
  struct Entry {
    std::optional<AnyConfig> own;    // put or found by this process
    std::optional<AnyConfig> saved;  // what the file has, or is to have

    const AnyConfig& config() const { return own ? *own : *saved; }
  };

  void save(const ConfigKey& key, const AnyConfig& config);
  void keep_saved(const ConfigKey& key, const AnyConfig& config);
  void read_file();
  void write_file();
  std::string file_text() const;

  std::string path_;  // empty: no file
  Note note_;
  std::mutex file_mutex_;  // held by additions to the file
  bool foreign_ = false;   // the file is of another kind
  mutable std::mutex mutex_;
  std::unordered_map<ConfigKey, Entry, ConfigKeyHash> entries_;
};

/// Makes a map of configs win over every cache, for the calls of this thread, while it lives. The
/// innermost one that has the key wins. Must be destroyed in reverse order, on the same thread.
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
