#include "maskctl/golden/text_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/io/streams/byte_source.h"

namespace maskctl {

std::string read_text_file(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{16} << 20;
  ByteSource source(path);
  std::string text;
  std::string part(std::size_t{1} << 16, '\0');
  while (const Index read = source.read(std::as_writable_bytes(std::span(part)))) {
    text.append(part, 0, static_cast<std::size_t>(read));
    if (text.size() > kMost) {
      throw Error(Errc::kLimit, fmt::format("{}: a text of more than {} bytes", path, kMost));
    }
  }
  return text;
}

void make_folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(Errc::kIo, fmt::format("cannot create {}: {}", folder.string(), error.message()));
  }
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_below(const std::string& folder, const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path place = fs::weakly_canonical(fs::absolute(file), error);
  if (error || fs::is_symlink(fs::symlink_status(place, error))) return false;  // points to nothing
  const fs::path relative = place.lexically_relative(fs::canonical(folder));
  return !relative.empty() && *relative.begin() != ".." && relative != ".";
}

void write_text_file(const std::string& path, const std::string& text) {
  AtomicFile file(path, true);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace maskctl
