// Helpers for the tests of array files: .npy bytes, arrays of the numbers 0, 1, 2 and so on,
// damaged copies, pipes.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/scratch.h"
#include "maskctl/base/error.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/streams/byte_source.h"
#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/error_of.h"

namespace maskctl::test {

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The bytes of a .npy of version 1.0 with this dictionary and data, without padding.
inline std::string npy(const std::string& dictionary, const std::string& data = "") {
  std::string out("\x93NUMPY\x01\0", 8);
  out += static_cast<char>(dictionary.size() & 0xFF);
  out += static_cast<char>(dictionary.size() >> 8);
  return out + dictionary + data;
}

inline std::string dictionary(const std::string& descr, const std::string& shape,
                              const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + "}";
}

/// A tensor whose neighbouring elements and bytes differ; for bool the elements are 1, 0, 1, 0, ...
inline Tensor counting(DType dtype, std::vector<Index> shape) {
  Tensor tensor(dtype, std::move(shape));
  const auto bytes = tensor.bytes();
  const auto width = static_cast<std::size_t>(size_bytes(dtype));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t value = (i / width) * 7 + (i % width) * 3 + 1;
    bytes[i] = static_cast<std::byte>(dtype == DType::kBool ? value % 2 : value % 113);
  }
  return tensor;
}

/// Makes 20000 damaged copies of `good`: up to `most` of the first `size` bytes change, and some
/// copies lose their end. Returns how many refused(bytes) refuses.
template <typename F>
int count_refused(const std::string& good, std::size_t size, std::size_t most, F&& refused) {
  std::mt19937 random(1);
  const auto below = [&random](std::size_t n) { return random() % n; };
  int count = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (std::size_t edits = 1 + below(most); edits > 0; --edits) {
      bytes[below(size)] = static_cast<char>(below(256));
    }
    if (below(8) == 0) bytes.resize(below(bytes.size()));
    if (refused(bytes)) ++count;
  }
  return count;
}

/// A pipe that a child process fills with the bytes.
class PipeSource {
 public:
  explicit PipeSource(const std::string& bytes) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ == 0) {
      ::close(ends[0]);
      std::size_t at = 0;
      while (at < bytes.size()) {
        const ssize_t n = ::write(ends[1], bytes.data() + at, bytes.size() - at);
        if (n <= 0) break;
        at += static_cast<std::size_t>(n);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    fd_ = ends[0];
  }
  ~PipeSource() {
    ::close(fd_);
    ::waitpid(child_, nullptr, 0);
  }
  PipeSource(const PipeSource&) = delete;
  PipeSource& operator=(const PipeSource&) = delete;

  std::string path() const { return "/dev/fd/" + std::to_string(fd_); }
  ByteSource open() const { return ByteSource(path()); }

 private:
  int fd_ = -1;
  pid_t child_ = -1;
};

}  // namespace maskctl::test
