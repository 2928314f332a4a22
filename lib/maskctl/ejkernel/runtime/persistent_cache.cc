#include "maskctl/ejkernel/runtime/persistent_cache.h"

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

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/ejkernel/runtime/config_text.h"

namespace maskctl::attention {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "maskctl configs 1";
constexpr std::uintmax_t kMaxBytes = 64u << 20;

/// Holds an exclusive lock of a file that stays empty, while it lives.
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

/// Nothing for a line that is no entry.
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

std::string file_text(const ConfigMap& entries) {
  std::vector<std::string> lines;
  for (const auto& [key, config] : entries) {
    if (!fits_line(key)) continue;
    lines.push_back(
        fmt::format("{}\t{}\t{}\t{}\n", key.device, key.operation, key.call, to_text(config)));
  }
  std::ranges::sort(lines);
  std::string text = std::string(kHeader) + "\n";
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

PersistentCache::PersistentCache(std::string path, Note note)
    : path_(std::move(path)), note_(note ? std::move(note) : [](const std::string&) {}) {
  read();
}

void PersistentCache::put(const ConfigKey& key, const AnyConfig& config) {
  const std::lock_guard lock(mutex_);
  if (!fits_line(key)) {
    note_("a key with a tab or a line feed is not kept in " + path_);
    return;
  }
  try {
    const fs::path folder = fs::path(path_).parent_path();
    if (!folder.empty()) fs::create_directories(folder);
    const FileLock file_lock(path_ + ".lock");
    read();
    entries_.put(key, config);
    write();
  } catch (const std::exception& error) {
    entries_.put(key, config);
    note_(fmt::format("config cache: {}", error.what()));
  }
}

void PersistentCache::read() {
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
    if (auto entry = entry_of(line)) {
      entries_.put(entry->first, entry->second);
    } else {
      ++damaged;
    }
  }
  if (damaged > 0) note_(fmt::format("config cache {}: {} damaged lines ignored", path_, damaged));
}

void PersistentCache::write() {
  if (foreign_) fs::rename(path_, path_ + ".bad");
  foreign_ = false;
  const std::string text = file_text(entries_.entries());
  AtomicFile file(path_, true);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace maskctl::attention
