// The helper program maskctl-hdf5 while it runs: its data, its time limit, and its failures as
// Errors.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// A file descriptor that is closed at the end.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept;
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd();
  int get() const { return fd_; }

 private:
  int fd_;
};

/// One run of the helper. It opens files that may be hostile in its own process, so that a crash, a
/// hang or unbounded memory there becomes an Error here. The destructor kills the helper if it
/// still runs.
class Hdf5Process {
 public:
  struct Plan {
    std::string name;                // name of the file, for messages
    std::vector<std::string> words;  // verb, file, dataset; see hdf5_protocol.h
    Index max_bytes = 0;
    bool replace = false;
    int input = -1;        // becomes its standard input; -1: none
    bool writing = false;  // write() feeds its standard input
  };
  /// Throws Error(kUnsupported) when the program is not found, Error(kIo) when it cannot be
  /// started.
  explicit Hdf5Process(Plan plan);
  ~Hdf5Process();
  Hdf5Process(const Hdf5Process&) = delete;
  Hdf5Process& operator=(const Hdf5Process&) = delete;

  /// Reads up to out.size() bytes of its output; 0 after the last. Throws the helper's own failure,
  /// or an Error when it crashed or gave nothing within the time limit.
  Index read(std::span<std::byte> out);
  /// The next line of its output without the newline; nothing when the output ends before a newline
  /// or the line is longer than 16 MiB. Throws as read().
  std::optional<std::string> read_line();
  /// Throws as read().
  void write(std::span<const std::byte> bytes);
  /// Waits for the helper to end; throws as read(). Its output must have been read.
  void finish();

 private:
  void start();
  Index read_pipe(std::span<std::byte> out);
  void await(int fd, short events);
  [[noreturn]] void stop_for_time();
  void check_end(int status, const std::string& message);
  const char* doing() const { return plan_.writing ? "writing" : "reading"; }

  Plan plan_;
  Index seconds_;
  OwnedFd output_, input_, errors_;
  pid_t pid_ = -1;
  std::string ahead_;  // bytes read past the end of a line
  std::size_t ahead_used_ = 0;
};

}  // namespace maskctl
