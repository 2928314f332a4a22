#include "maskctl/io/formats/append.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl {

std::unique_ptr<ReplaceLock> lock_for_write(const std::string& path) {
  struct stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  if (path == "-" || (there && !S_ISREG(info.st_mode))) return nullptr;
  return std::make_unique<ReplaceLock>(path);
}

std::optional<ByteSource> file_to_append(const std::string& path, const FileFormat& format,
                                         const WriteOptions& options) {
  if (!options.append || path == "-" || ::access(path.c_str(), F_OK) != 0) return std::nullopt;
  ByteSource source(path);
  if (!source.seekable()) {
    throw Error(Errc::kInvalidArgument, path + ": is not a regular file; adding arrays needs one");
  }
  const FileLook look = look_at(source);
  if (look.format == &format) return source;
  throw Error(Errc::kFormat,
              fmt::format("{}: it looks like {}; adding arrays needs {}", path, look.description,
                          format.wanted),
              {{Remedy::kReplaceFile}});
}

TakenNames::TakenNames(const std::string& name, std::span<const ArrayStream> arrays) {
  if (!name.empty()) {
    names_.push_back(name);
    return;
  }
  for (const ArrayStream& array : arrays) names_.push_back(array.spec.name);
}

bool TakenNames::contains(std::string_view key) const {
  return std::ranges::any_of(names_, [&](std::string_view name) {
    return key.starts_with(name) &&
           (key.size() == name.size() || key[name.size()] == '/' || name.ends_with('/'));
  });
}

void TakenNames::check_new(const std::string& path, const std::vector<std::string>& has,
                           const WriteOptions& options) const {
  if (options.force) return;
  const auto found = std::ranges::find_if(has, [&](const auto& key) { return contains(key); });
  if (found == has.end()) return;
  throw Error(Errc::kIo, fmt::format("{}: already holds an array '{}'", path, printable(*found)),
              {{Remedy::kOverwrite}});
}

}  // namespace maskctl
