#include "app/cli/streams.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"

namespace maskctl::app {

void write_stdout(std::string_view text) {
  write_all(STDOUT_FILENO, std::as_bytes(std::span(text)), "standard output");
  // Some file systems report a full disk only in close().
  if (close(STDOUT_FILENO) != 0 && errno != EINTR) {
    throw Error(Errc::kIo, fmt::format("cannot write standard output: {}", std::strerror(errno)));
  }
}

void write_stderr(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void print_error(std::string_view message) {
  write_stderr(fmt::format("maskctl: error: {}\n", message));
}

}  // namespace maskctl::app
