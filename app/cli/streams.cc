#include "app/cli/streams.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl::app {

void write_stdout(std::string_view text, bool colours) {
  const std::string safe = printable_lines(text, colours);
  write_all(STDOUT_FILENO, std::as_bytes(std::span(safe)), "standard output");
  // Some file systems report a full disk only in close().
  if (close(STDOUT_FILENO) != 0 && errno != EINTR) {
    throw Error(Errc::kIo, fmt::format("cannot write standard output: {}", std::strerror(errno)));
  }
}

void write_stderr(std::string_view text) { control_terminal(printable_lines(text)); }

void control_terminal(std::string_view sequence) noexcept {
  while (!sequence.empty()) {
    const ssize_t written = write(STDERR_FILENO, sequence.data(), sequence.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    sequence.remove_prefix(static_cast<std::size_t>(written));
  }
}

void print_error(std::string_view message) {
  write_stderr(fmt::format("maskctl: error: {}\n", message));
}

}  // namespace maskctl::app
