// A running helper program maskctl-hdf5: its data, its time limit, and its failures as Errors.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// A file descriptor that is closed by the destructor.
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

/// One run of the helper. The file, which may be malicious, is opened only in the helper's process:
/// if it makes HDF5 crash, hang or use too much memory, this class throws an Error. The destructor
/// kills the helper if it still runs.
class Hdf5Process {
 public:
  struct Plan {
    std::string name;                // of the file, for messages
    std::vector<std::string> words;  // verb, file, dataset: see hdf5_protocol.h
    Index max_bytes = 0;
    bool replace = false;
    int input = -1;        // descriptor that becomes the helper's standard input; -1: none
    int target = -1;       // descriptor of the file to write, hdf5_protocol::kGivenFile; -1: none
    bool writing = false;  // true if the helper's standard input is what write() writes
  };
  /// Starts the helper. Throws Error(kUnsupported) if the program is not found, Error(kIo) if it
  /// cannot be started.
  explicit Hdf5Process(Plan plan);
  ~Hdf5Process();
  Hdf5Process(const Hdf5Process&) = delete;
  Hdf5Process& operator=(const Hdf5Process&) = delete;

  /// Reads up to out.size() bytes of the helper's output; returns 0 at its end. Throws the error
  /// that the helper reports, or an Error if it crashed or sent nothing within the time limit.
  Index read(std::span<std::byte> out);
  /// The next line of the output, without its newline. Nothing if the output ends before a newline
  /// or the line is longer than 16 MiB. Throws like read().
  std::optional<std::string> read_line();
  /// Writes to the helper's standard input. Throws like read().
  void write(std::span<const std::byte> bytes);
  /// Waits until the helper has ended; its output must have been read. Throws like read().
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
  std::string ahead_;  // bytes that read_line() has read after its line
  std::size_t ahead_used_ = 0;
};

}  // namespace maskctl
