#include "maskctl/io/formats/append.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl {

std::unique_ptr<ReplaceLock> lock_for_append(const std::string& path, const WriteOptions& options) {
  return options.append && path != "-" ? std::make_unique<ReplaceLock>(path) : nullptr;
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

void check_new(const std::string& path, const std::vector<std::string>& has,
               const std::string& name, const WriteOptions& options) {
  if (options.force || std::ranges::find(has, name) == has.end()) return;
  throw Error(Errc::kIo, fmt::format("{}: already holds an array '{}'", path, printable(name)),
              {{Remedy::kOverwrite}});
}

}  // namespace maskctl
