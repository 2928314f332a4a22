#include "maskctl/ejkernel/runtime/config_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/base/threads.h"
#include "maskctl/ejkernel/runtime/config_text.h"

namespace maskctl::attention {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "maskctl configs 1";
constexpr std::uintmax_t kMaxBytes = 64u << 20;

thread_local const OverlayCache* innermost_overlay = nullptr;

/// While it exists, holds an exclusive lock on a file, which stays empty.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    int failed = fd_ < 0 ? -1 : flock(fd_, LOCK_EX);
    while (failed != 0 && errno == EINTR && fd_ >= 0) failed = flock(fd_, LOCK_EX);
    if (failed == 0) return;
    const int code = errno;
    if (fd_ >= 0) close(fd_);
    throw Error(Errc::kIo,
                fmt::format("cannot lock {}: {}", path, std::generic_category().message(code)));
  }
  ~FileLock() { close(fd_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

/// Parses a line of the cache file; nullopt if the line is malformed.
std::optional<std::pair<ConfigKey, AnyConfig>> entry_of(const std::string& line) {
  const std::vector<std::string_view> parts = split(line, '\t');
  if (parts.size() != 4) return std::nullopt;
  const auto config = config_from_text(parts[3]);
  if (!config) return std::nullopt;
  return std::pair{ConfigKey{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])},
                   *config};
}

bool fits_line(const ConfigKey& key) {
  return std::ranges::all_of(std::array{&key.device, &key.operation, &key.call}, [](auto* part) {
    return part->find_first_of("\t\n") == std::string::npos;
  });
}

}  // namespace

ConfigCache::ConfigCache(std::string path, Note note)
    : path_(std::move(path)), note_(note ? std::move(note) : [](const std::string&) {}) {
  read_file();
}

std::optional<KnownConfig> ConfigCache::find(const ConfigKey& key) {
  if (const AnyConfig* config = OverlayCache::find(key)) return {{*config, ConfigSource::kOverlay}};
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  Entry& entry = found->second;
  if (entry.own) return {{*entry.own, ConfigSource::kMemory}};
  entry.own = entry.saved;
  return {{*entry.own, ConfigSource::kFile}};
}

std::optional<AnyConfig> ConfigCache::get(const ConfigKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return found->second.config();
}

void ConfigCache::put(const ConfigKey& key, const AnyConfig& config) {
  put_unsaved(key, config);
  if (!path_.empty()) save(key, config);
}

void ConfigCache::put_unsaved(const ConfigKey& key, const AnyConfig& config) {
  const std::lock_guard lock(mutex_);
  entries_[key].own = config;
}

void ConfigCache::clear() {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& one) { return !one.second.saved; });
  for (auto& [key, entry] : entries_) entry.own.reset();
}

std::size_t ConfigCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

ConfigMap ConfigCache::entries() const {
  const std::lock_guard lock(mutex_);
  ConfigMap all;
  for (const auto& [key, entry] : entries_) all.emplace(key, entry.config());
  return all;
}

void ConfigCache::save(const ConfigKey& key, const AnyConfig& config) {
  const std::lock_guard lock(file_mutex_);
  if (!fits_line(key)) {
    note_("a key with a tab or a line feed is not kept in " + path_);
    return;
  }
  try {
    const fs::path folder = fs::path(path_).parent_path();
    if (!folder.empty()) fs::create_directories(folder);
    const FileLock file_lock(path_ + ".lock");
    read_file();
    keep_saved(key, config);
    write_file();
  } catch (const std::exception& error) {
    keep_saved(key, config);
    note_(fmt::format("config cache: {}", error.what()));
  }
}

void ConfigCache::keep_saved(const ConfigKey& key, const AnyConfig& config) {
  const std::lock_guard lock(mutex_);
  entries_[key].saved = config;
}

void ConfigCache::read_file() {
  std::error_code failure;
  const std::uintmax_t bytes = fs::file_size(path_, failure);
  foreign_ = !failure && bytes > kMaxBytes;
  if (foreign_) return note_(fmt::format("config cache {} is too large and is ignored", path_));
  if (failure) return;
  std::ifstream file(path_, std::ios::binary);
  std::string line;
  std::getline(file, line);
  foreign_ = line != kHeader && bytes > 0;
  if (foreign_) return note_(fmt::format("config cache {} is damaged and is ignored", path_));
  Index damaged = 0;
  while (std::getline(file, line)) {
    if (const auto entry = entry_of(line)) {
      keep_saved(entry->first, entry->second);
    } else {
      ++damaged;
    }
  }
  if (damaged > 0) note_(fmt::format("config cache {}: {} damaged lines ignored", path_, damaged));
}

std::string ConfigCache::file_text() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [key, entry] : entries_) {
    if (!entry.saved) continue;
    lines.push_back(fmt::format("{}\t{}\t{}\t{}\n", key.device, key.operation, key.call,
                                to_text(*entry.saved)));
  }
  std::ranges::sort(lines);
  std::string text = std::string(kHeader) + "\n";
  for (const std::string& line : lines) text += line;
  return text;
}

void ConfigCache::write_file() {
  if (foreign_) fs::rename(path_, path_ + ".bad");
  foreign_ = false;
  const std::string text = file_text();
  AtomicFile file(path_, true);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

OverlayCache::OverlayCache(ConfigMap configs)
    : configs_(std::move(configs)), outer_(innermost_overlay) {
  innermost_overlay = this;
}

OverlayCache::~OverlayCache() { innermost_overlay = outer_; }

const AnyConfig* OverlayCache::find(const ConfigKey& key) {
  for (const OverlayCache* overlay = innermost_overlay; overlay; overlay = overlay->outer_) {
    const auto found = overlay->configs_.find(key);
    if (found != overlay->configs_.end()) return &found->second;
  }
  return nullptr;
}

std::string device_fingerprint() { return fmt::format("cpu|{}|{}", cpu_target(), threads()); }

std::string short_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

}  // namespace maskctl::attention
