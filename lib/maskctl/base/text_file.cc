#include "maskctl/base/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 16;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::string read_text_file(const std::string& path, Index most, const std::string& what) {
  const auto refuse = [&](int code) {
    throw Error(Errc::kIo,
                fmt::format("{}: cannot read {}: {}", printable(path), what, std::strerror(code)));
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (!file) refuse(errno);
  std::string text;
  for (std::size_t size = 0; std::ssize(text) <= most;) {
    text.resize(size + std::min(kPart, as_size(most) + 1 - size));
    const std::size_t read = std::fread(text.data() + size, 1, text.size() - size, file.get());
    text.resize(size += read);
    if (std::ferror(file.get())) refuse(errno);
    if (read == 0) break;
  }
  if (std::ssize(text) > most) {
    throw Error(Errc::kLimit,
                fmt::format("{}: more than {} bytes for {}", printable(path), most, what));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

}  // namespace maskctl
