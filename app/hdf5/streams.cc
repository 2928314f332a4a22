#include "app/hdf5/streams.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "app/hdf5/library.h"

namespace maskctl::hdf5 {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;
// 64 MiB, because an attribute may hold a whole document.
constexpr std::size_t kMaxLine = std::size_t{64} << 20U;

[[noreturn]] void fail_io(const std::string& text) { throw Failure{hdf5_protocol::kIo, text}; }

}  // namespace

void write_output(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_io(std::string("cannot send the data: ") + std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

Input::Input() : buffer_(kBufferBytes) {}

void Input::fill() {
  ssize_t got = 0;
  do {
    got = ::read(STDIN_FILENO, buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) fail_io(std::string("cannot receive the data: ") + std::strerror(errno));
  if (got == 0) fail_io("the data to write ended early");
  begin_ = 0;
  end_ = static_cast<std::size_t>(got);
}

std::string Input::line() {
  std::string out;
  while (out.size() <= kMaxLine) {
    if (begin_ == end_) fill();
    const char* const first = buffer_.data() + begin_;
    const char* const last = buffer_.data() + end_;
    const char* const newline = std::find(first, last, '\n');
    out.append(first, newline);
    begin_ += static_cast<std::size_t>(newline - first);
    if (newline == last) continue;
    ++begin_;
    return out;
  }
  fail_io("a line of more than 64 MiB");
}

void Input::read(std::span<char> out) {
  while (!out.empty()) {
    if (begin_ == end_) fill();
    const std::size_t count = std::min(out.size(), end_ - begin_);
    std::memcpy(out.data(), buffer_.data() + begin_, count);
    begin_ += count;
    out = out.subspan(count);
  }
}

}  // namespace maskctl::hdf5
